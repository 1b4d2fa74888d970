// Package create writes a new project to disk, whole or not at all. It writes the files to a hidden
// folder next to the destination, compiles them as if they were at the destination, commits them to
// git, and renames the folder.
//
// If the destination is an empty folder, it is kept: the hidden folder is inside it, and its entries
// are renamed one by one. If a run is killed, the next one cleans up after it, or finishes such a
// move.
package create

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
)

// Options say what is made, and where.
type Options struct {
	Answers scaffold.Answers
	Dir     string // where it goes
	Base    string // the folder that the user is in, which Dir is relative to; empty if it is gone
	NoGit   bool   // make no repository
	DryRun  bool   // say what would be made, and make nothing

	// Step is told what begins when something begins that takes a while; nil means nobody is.
	Step func(what string)
}

// Run makes a project. If it returns an error, nothing was made. A [terminal.UsageError] is
// about the answers, any other about the world.
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
		err = sameProject(result)
	default:
		err = fill(ctx, to, files, o, result)
		if err != nil && ctx.Err() != nil {
			err = errors.New("interrupted; nothing was made")
		}
	}
	left := to.Close()
	if err != nil {
		return nil, errors.Join(err, left)
	}
	if left != nil {
		result.Notes = append(result.Notes, fmt.Sprintf("Not all that was needed on the way could be removed: %v.", left))
	}
	result.Seconds.Total = time.Since(begin).Seconds()
	return result, nil
}

// checkDir refuses folders that a project cannot be in, or that were not meant.
func checkDir(o Options) error {
	switch {
	case o.Dir == "":
		return errors.New("--dir is empty; name a folder, or leave it away")
	case o.Dir == "~" || strings.HasPrefix(o.Dir, "~/"):
		return fmt.Errorf("%q begins with a ~ that the shell has left as it is: write --dir ~/…, with a space and without quotes, or ./~/… for a folder of that name", o.Dir)
	case !utf8.ValidString(o.Dir) || strings.ContainsFunc(o.Dir, unicode.IsControl):
		return fmt.Errorf("%q cannot be the folder of a project: Go does not build where a path has such characters", o.Dir)
	case o.Base == "" && !filepath.IsAbs(o.Dir):
		return fmt.Errorf("%q is relative to the working directory, which is not there any more; give --dir an absolute path", o.Dir)
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

	o.Step("checking that it compiles")
	if err := verify(ctx, to, files, result); err != nil {
		return err
	}
	result.Seconds.Verify = since(&begin)

	if !o.NoGit {
		o.Step("making the first commit")
		result.Git = commit(ctx, to)
		result.Seconds.Git = since(&begin)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return refusal(to.Move())
}

// since is how long it has been, in seconds, and begins anew.
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
				return fmt.Errorf("writing %s: %w", file.Path, err)
			}
			made[folder] = true
		}
		if err := root.WriteFile(name, file.Data, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", file.Path, err)
		}
	}
	return nil
}

// refusal adds the way out to an error about the destination.
func refusal(err error) error {
	if _, ok := errors.AsType[*unfinishedError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*notEmptyError](err); ok {
		return fmt.Errorf("%w; choose another place with --dir, or move it away", err)
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("there is no place for the project: %w; choose another with --dir", err)
	}
	return err
}

// sameProject says whether the project that an interrupted run has left, and that is whole
// now, is the one that was asked for.
func sameProject(result *Result) error {
	found, err := project.Find(result.Dir)
	if err != nil {
		return err
	}
	for _, file := range result.Files {
		if _, err := os.Stat(filepath.Join(result.Dir, filepath.FromSlash(file.Path))); err != nil {
			return fmt.Errorf("an interrupted run had begun the project in %s, and it is not whole: %w; move it away", result.Dir, err)
		}
	}
	if found.Root != result.Dir || found.Petrock != result.Petrock || found.Name != result.Name || found.Module != result.Module || found.Example != result.Example || found.OAuth != result.OAuth {
		return fmt.Errorf("%s holds the project %s, module %s, which an interrupted run had begun and this one has finished; choose another place with --dir, or move it away", result.Dir, found.Name, found.Module)
	}
	result.Notes = append(result.Notes, "An interrupted run had begun this project; it is whole now.")
	return nil
}
