// Package create writes a new project to disk, whole or not at all. It writes the files to a hidden
// folder next to the destination, compiles them as if they were at the destination, commits them to
// git, and renames the folder.
//
// If the destination is an empty folder, it is kept: the hidden folder is inside it, and its
// entries are renamed one by one. If a run is killed, the next one cleans up after it, or finishes
// such a move.
package create

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// Options describe the project to create.
type Options struct {
	Answers scaffold.Answers
	Dir     string // destination
	Base    string // working directory, which Dir is relative to; empty if it does not exist
	NoGit   bool   // create no git repository
	DryRun  bool   // write nothing

	// Step, if not nil, is called before each slow step.
	Step func(what string)
}

// Run creates a project. If it returns an error, it has created nothing. A [terminal.UsageError]
// reports invalid answers, and an [InterruptedError] that ctx ended.
func Run(ctx context.Context, sources scaffold.Sources, o Options) (*Result, error) {
	if o.Step == nil {
		o.Step = func(string) {}
	}
	err := sources.Check(o.Answers)
	if err == nil {
		err = checkDir(o)
	}
	if err != nil {
		return nil, &terminal.UsageError{Err: err}
	}
	begin := time.Now()
	files, err := sources.Make(o.Answers)
	if err != nil {
		return nil, err
	}
	result := newResult(o, files)
	result.Seconds.Write = time.Since(begin).Seconds()
	if o.DryRun {
		return result, refusal(checkDestination(result.Dir))
	}
	to, err := openDestination(result.Dir)
	if err != nil {
		return nil, refusal(err)
	}
	switch {
	case to.Finished():
		err = checkSameProject(result)
	default:
		err = fill(ctx, to, files, o, result)
		if err != nil && ctx.Err() != nil {
			err = &InterruptedError{Err: errors.Join(context.Cause(ctx), err)}
		}
	}
	left := to.Close()
	if err != nil {
		return nil, errors.Join(err, left)
	}
	if left != nil {
		result.Notes = append(result.Notes, fmt.Sprintf("Temporary files could not be removed: %v.", left))
	}
	result.Seconds.Total = time.Since(begin).Seconds()
	return result, nil
}

// An InterruptedError reports that a context ended before the project was created.
type InterruptedError struct{ Err error }

func (e *InterruptedError) Error() string { return "interrupted; nothing was created" }

// Unwrap returns the cause of the context's end, and the errors that followed from it.
func (e *InterruptedError) Unwrap() error { return e.Err }

// checkDir refuses destinations that cannot hold a project, and likely mistakes.
func checkDir(o Options) error {
	switch {
	case o.Dir == "":
		return errors.New("--dir is empty; name a folder, or omit the flag")
	case o.Dir == "~" || strings.HasPrefix(o.Dir, "~/"):
		return fmt.Errorf("%q starts with a ~ that the shell did not expand: write --dir ~/… with a space and without quotes, or ./~/… for a folder of that name", o.Dir)
	case !utf8.ValidString(o.Dir) || strings.ContainsFunc(o.Dir, unicode.IsControl):
		return fmt.Errorf("%q cannot be the folder of a project: Go does not build in paths with such characters", o.Dir)
	case o.Base == "" && !filepath.IsAbs(o.Dir):
		return fmt.Errorf("%q is relative to the working directory, which no longer exists; give --dir an absolute path", o.Dir)
	}
	return nil
}

// fill writes the files, verifies and commits them, and moves them to the destination.
func fill(ctx context.Context, to *destination, files []scaffold.File, o Options, result *Result) error {
	begin := time.Now()
	o.Step(fmt.Sprintf("writing %d files", len(files)))
	if err := write(to.Dir(), files); err != nil {
		return err
	}
	result.Seconds.Write += since(&begin)

	o.Step("compiling" + estimate(ctx))
	if err := verify(ctx, to, files, result); err != nil {
		return err
	}
	result.Seconds.Verify = since(&begin)

	if !o.NoGit {
		o.Step("creating the first commit")
		result.Git = commit(ctx, to)
		result.Seconds.Git = since(&begin)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return refusal(to.Move())
}

// estimate returns how long compiling takes, for progress. It depends on whether Go has the
// standard library in its cache. Other machines may take half or twice as long.
func estimate(ctx context.Context) string {
	const whole, rest = 64, 9 // measured seconds of CPU, with and without the standard library
	out, _, err := process.Run(ctx, process.RunOptions{}, "go", "list", "-buildvcs=false", "-f", "{{.Stale}}", "net/http")
	switch stale := strings.TrimSpace(string(out)); {
	case err != nil:
		return ""
	case stale == "true":
		return fmt.Sprintf(" with the standard library, which takes about %d s", whole/min(runtime.NumCPU(), 8))
	}
	return fmt.Sprintf(", which takes about %d s", max(rest/runtime.NumCPU(), 5))
}

// since returns the seconds since begin, and sets begin to now.
func since(begin *time.Time) float64 {
	now := time.Now()
	took := now.Sub(*begin)
	*begin = now
	return took.Seconds()
}

// write writes files below dir and nowhere else.
func write(dir string, files []scaffold.File) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	made := map[string]bool{".": true}
	for _, file := range files {
		name := filepath.FromSlash(file.Path)
		if folder := filepath.Dir(name); !made[folder] {
			if err := root.MkdirAll(folder, 0o755); err != nil {
				return fmt.Errorf("write %s: %w", file.Path, err)
			}
			made[folder] = true
		}
		if err := root.WriteFile(name, file.Data, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", file.Path, err)
		}
	}
	return nil
}

// refusal adds the remedy to an error about the destination.
func refusal(err error) error {
	if _, ok := errors.AsType[*unfinishedError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*notEmptyError](err); ok {
		return fmt.Errorf("%w; choose another folder with --dir, or move it away", err)
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("create project: %w; choose another folder with --dir", err)
	}
	return err
}

// checkSameProject fails unless the project that an interrupted run left, and this one completed,
// is the requested one.
func checkSameProject(result *Result) error {
	found, err := project.Find(result.Dir)
	if err != nil {
		return err
	}
	for _, file := range result.Files {
		if _, err := os.Stat(filepath.Join(result.Dir, filepath.FromSlash(file.Path))); err != nil {
			return fmt.Errorf("the project in %s, which an interrupted run left, is incomplete: %w; move it away", result.Dir, err)
		}
	}
	if found.Root != result.Dir || found.Petrock != result.Petrock || found.Name != result.Name || found.Module != result.Module || found.Example != result.Example {
		return fmt.Errorf("%s holds the project %s, module %s, which an interrupted run left and this one completed; choose another folder with --dir, or move it away", result.Dir, found.Name, found.Module)
	}
	result.Notes = append(result.Notes, "This completed the project of an interrupted run.")
	return nil
}
