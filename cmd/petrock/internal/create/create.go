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
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators"
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

// pretend returns flags and environment variables that make the go command see the files at the
// destination before they are moved: an overlay with the files, and a workspace with the module. It
// replaces the modules in without by empty ones.
func pretend(to *destination, files []scaffold.File, without []module.Version) (flags, env []string, err error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for _, file := range files {
		name := filepath.FromSlash(file.Path)
		overlay.Replace[filepath.Join(to.Dest(), name)] = filepath.Join(to.Dir(), name)
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return nil, nil, err
	}
	overlayFile := filepath.Join(to.Scratch(), "overlay.json")
	if err := os.WriteFile(overlayFile, text, 0o644); err != nil {
		return nil, nil, err
	}
	work, err := workspace(to, files, without)
	if err != nil {
		return nil, nil, err
	}
	workFile := filepath.Join(to.Scratch(), "go.work")
	if err := os.WriteFile(workFile, []byte(work), 0o644); err != nil {
		return nil, nil, err
	}
	return []string{"-overlay=" + overlayFile, "-mod=readonly"}, []string{"GOWORK=" + workFile}, nil
}

// workspace returns the go.work. In a workspace Go reads the go.mod of every module in the graph.
// Outside of one it skips modules that provide no package, so these are replaced by empty ones
// here.
func workspace(to *destination, files []scaffold.File, without []module.Version) (string, error) {
	parsed, err := modfile.Parse("go.mod", find(files, "go.mod"), nil)
	if err != nil {
		return "", fmt.Errorf("read %w", err)
	}
	var work strings.Builder
	fmt.Fprintf(&work, "go %s\n\nuse %s\n", parsed.Go.Version, modfile.AutoQuote(filepath.ToSlash(to.Dest())))
	for i, m := range without {
		stub := fmt.Sprintf("without%d", i)
		if err := os.MkdirAll(filepath.Join(to.Scratch(), stub), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(to.Scratch(), stub, "go.mod"), []byte("module "+m.Path+"\n"), 0o644); err != nil {
			return "", err
		}
		fmt.Fprintf(&work, "\nreplace %s %s => ./%s\n", m.Path, m.Version, stub)
	}
	return work.String(), nil
}

// unused returns the modules of which go.sum lists only the go.mod: the build needs none of their
// packages.
func unused(goSum []byte) []module.Version {
	used := map[string]bool{}
	var named []module.Version
	for line := range strings.Lines(string(goSum)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		if version, ok := strings.CutSuffix(fields[1], "/go.mod"); ok {
			named = append(named, module.Version{Path: fields[0], Version: version})
		} else {
			used[fields[0]+"@"+fields[1]] = true
		}
	}
	var rest []module.Version
	for _, m := range named {
		if !used[m.String()] {
			rest = append(rest, m)
		}
	}
	return rest
}

func find(files []scaffold.File, name string) []byte {
	for _, file := range files {
		if file.Path == name {
			return file.Data
		}
	}
	return nil
}

// A Result describes a project that was, or would be, created.
type Result struct {
	OK       bool     `json:"ok"` // always true: failures are errors
	DryRun   bool     `json:"dryRun"`
	Name     string   `json:"name"`
	Module   string   `json:"module"`
	Example  string   `json:"example,omitempty"`
	OAuth    bool     `json:"oauth,omitempty"`
	Dir      string   `json:"dir"` // absolute
	Petrock  string   `json:"petrock"`
	Programs []string `json:"programs"` // folders, relative to the root
	Files    []File   `json:"files"`
	Git      *Git     `json:"git,omitempty"` // nil with --no-git
	Notes    []string `json:"notes,omitempty"`
	Next     []string `json:"next"` // commands to type
	Seconds  Seconds  `json:"seconds"`
}

// A File is one file of the project.
type File struct {
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Seconds has the duration of each step.
type Seconds struct {
	Write  float64 `json:"write"`
	Verify float64 `json:"verify"`
	Git    float64 `json:"git"`
	Total  float64 `json:"total"`
}

func newResult(o Options, files []scaffold.File) *Result {
	dir := o.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(o.Base, dir)
	}
	r := &Result{
		OK:       true,
		DryRun:   o.DryRun,
		Name:     o.Answers.Name,
		Module:   o.Answers.Module,
		Example:  o.Answers.Example,
		OAuth:    o.Answers.OAuth,
		Dir:      filepath.Clean(dir),
		Petrock:  generators.Version,
		Programs: []string{"cmd/" + o.Answers.Name, "cmd/petrock"},
	}
	for _, file := range files {
		sum := sha256.Sum256(file.Data)
		r.Files = append(r.Files, File{Path: file.Path, Bytes: len(file.Data), SHA256: hex.EncodeToString(sum[:])})
	}
	r.next(o)
	return r
}

// next sets Next, and adds a note if a workspace does not list the project.
func (r *Result) next(o Options) {
	if r.Dir != filepath.Clean(o.Base) {
		r.Next = append(r.Next, "cd "+quote(filepath.Clean(o.Dir)))
	}
	if work := workspaceOver(r.Dir); work != "" {
		r.Notes = append(r.Notes, fmt.Sprintf("The workspace %s contains this folder but does not list it, so Go refuses to build it. Run go work use . to add it.", work))
		r.Next = append(r.Next, "go work use .")
	}
	r.Next = append(r.Next, "go test ./...")
	if facts := o.Answers.Facts(); facts.Keyed {
		r.Next = append(r.Next, fmt.Sprintf("export %s=$(openssl rand -hex 32)", project.Variable(r.Name, "api_key")), fmt.Sprintf("go run ./cmd/%s serve", r.Name))
	} else {
		r.Next = append(r.Next, fmt.Sprintf("go run ./cmd/%s call %s %s", r.Name, facts.Tool, facts.Arguments))
	}
	if r.OAuth {
		r.Next = append(r.Next, fmt.Sprintf("go run ./cmd/%s serve --oauth-issuer https://login.example.com", r.Name))
	}
	if len(r.Next) < 3 {
		r.Next = append(r.Next, "go run ./cmd/petrock status")
	}
}

// workspaceOver returns the go.work that applies to a folder and does not list it, or "".
func workspaceOver(dir string) string {
	work := os.Getenv("GOWORK")
	switch work {
	case "":
		work = above(dir, "go.work")
	case "off":
		return ""
	}
	text, err := os.ReadFile(work)
	if err != nil {
		return ""
	}
	parsed, err := modfile.ParseWork(work, text, nil)
	if err != nil {
		return work
	}
	for _, use := range parsed.Use {
		used := filepath.FromSlash(use.Path)
		if !filepath.IsAbs(used) {
			used = filepath.Join(filepath.Dir(work), used)
		}
		if filepath.Clean(used) == dir {
			return ""
		}
	}
	return work
}

// above returns the nearest file of this name in a folder above dir, or "".
func above(dir, name string) string {
	for up := filepath.Dir(dir); up != dir; dir, up = up, filepath.Dir(up) {
		file := filepath.Join(up, name)
		if _, err := os.Lstat(file); err == nil {
			return file
		}
	}
	return ""
}

// String returns the result as text.
func (r *Result) String() string {
	var text strings.Builder
	if r.DryRun {
		fmt.Fprintf(&text, "Would create %s, module %s, in %s:\n\n", r.Name, r.Module, r.Dir)
		for _, file := range r.Files {
			fmt.Fprintf(&text, "%7d  %s\n", file.Bytes, file.Path)
		}
		fmt.Fprintf(&text, "\n%d files. Nothing was written.\n", len(r.Files))
		return text.String()
	}
	fmt.Fprintf(&text, "Created %s in %s: an MCP server with tests and its own petrock, in %d files.\n", r.Name, r.Dir, len(r.Files))
	if r.Seconds.Verify > 0 {
		fmt.Fprintf(&text, "Compiled in %.0f s.\n", r.Seconds.Verify)
	}
	if r.Git != nil {
		fmt.Fprintln(&text, r.Git.Message)
	}
	for _, note := range r.Notes {
		fmt.Fprintln(&text, note)
	}
	text.WriteString("\nNext:\n")
	for _, command := range r.Next {
		fmt.Fprintf(&text, "  %s\n", command)
	}
	return text.String()
}

// quote quotes a path for a shell.
func quote(path string) string {
	if strings.HasPrefix(path, "-") || strings.HasPrefix(path, "~") {
		path = "." + string(filepath.Separator) + path
	}
	plain := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,=~"
	if filepath.Separator == '\\' {
		plain += `\`
	}
	if !strings.ContainsFunc(path, func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
