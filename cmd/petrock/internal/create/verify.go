package create

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/generators/typecheck"
)

// verify compiles the user's packages with their tests and links the programs below cmd, as if the
// project were at its destination. Go caches the results, so the first build there is fast. The
// generators are petrock's own code: verify checks that all their packages and modules exist, and
// the first command of the project's petrock compiles them.
//
// If the build fails while modules are missing from Go's module cache, verify retries without them,
// since some modules are for other systems. It retries too if another process has downloaded
// missing modules in the meantime.
func verify(ctx context.Context, to *destination, files []scaffold.File, result *Result) error {
	without := unused(find(files, "go.sum"))
	missing := missingModules(ctx, files)
	var first error
	for {
		err := verifyWithout(ctx, to, files, result, without)
		if err == nil || ctx.Err() != nil {
			return err
		}
		first = cmp.Or(first, err)
		before := missing
		missing = missingModules(ctx, files)
		more := slices.DeleteFunc(slices.Clone(missing), func(m module.Version) bool { return slices.Contains(without, m) })
		if len(more) == 0 && slices.Equal(missing, before) {
			return explain(first, missing)
		}
		without = append(without, more...)
	}
}

func verifyWithout(ctx context.Context, to *destination, files []scaffold.File, result *Result, without []module.Version) error {
	flags, env, err := pretend(to, files, without)
	if err != nil {
		return err
	}
	o := typecheck.BuildOptions{Dir: to.Scratch(), Roots: []string{to.Dest(), to.Dir()}, Flags: flags, Env: env}
	own, programs, rest := packages(files, result.Module)
	o.Patterns = own
	checked, err := typecheck.CheckPackages(ctx, o)
	if err != nil {
		return err
	}
	found := checked.Diagnostics
	for _, pkg := range own {
		if len(found) == 0 && !slices.Contains(checked.Packages, pkg) {
			return fmt.Errorf("the go command did not compile %s, and gave no reason", pkg)
		}
	}
	if len(found) == 0 {
		o.Patterns = programs
		found, err = typecheck.Build(ctx, o, "build", "-o", os.DevNull)
	}
	if err == nil && len(found) == 0 {
		o.Patterns = rest
		found, err = typecheck.Build(ctx, o, "list", "-deps", "-f", "")
	}
	if err == nil && len(found) > 0 {
		err = &brokenError{found}
	}
	return err
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

// packages returns the import paths of the packages in the files: the user's, programs below cmd,
// and petrock's.
func packages(files []scaffold.File, module string) (own, programs, petrock []string) {
	var dirs []string
	for _, file := range files {
		if path.Ext(file.Path) == ".go" {
			dirs = append(dirs, path.Dir(file.Path))
		}
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		switch top, _, _ := strings.Cut(dir, "/"); top {
		case "cmd":
			programs = append(programs, module+"/"+dir)
		case "core", "generators":
			petrock = append(petrock, module+"/"+dir)
		default:
			own = append(own, module+"/"+dir)
		}
	}
	return own, programs, petrock
}

// A brokenError reports that the project does not compile.
type brokenError struct{ found []typecheck.Diagnostic }

func (e *brokenError) Error() string {
	var text strings.Builder
	text.WriteString("the project does not compile, so it was not created:")
	for _, d := range e.found[:min(10, len(e.found))] {
		fmt.Fprintf(&text, "\n%s", d)
	}
	return text.String()
}

// explain adds the remedy to an error that missing modules may have caused.
func explain(err error, missing []module.Version) error {
	if len(missing) == 0 {
		return err
	}
	var names []string
	for _, m := range missing {
		names = append(names, m.String())
	}
	return fmt.Errorf("%w\nModules are missing from Go's module cache; with network access, run\n  go mod download %s\nand retry", err, strings.Join(names, " "))
}

// missingModules returns the required modules that are not in Go's module cache, or none if the
// cache cannot be found.
func missingModules(ctx context.Context, files []scaffold.File) []module.Version {
	out, _, err := process.Run(ctx, process.RunOptions{}, "go", "env", "GOMODCACHE")
	cache := string(bytes.TrimSpace(out))
	if err != nil || cache == "" {
		return nil
	}
	return slices.DeleteFunc(required(files), func(m module.Version) bool {
		path, pathErr := module.EscapePath(m.Path)
		version, versionErr := module.EscapeVersion(m.Version)
		_, source := os.Stat(filepath.Join(cache, filepath.FromSlash(path)+"@"+version))
		_, goMod := os.Stat(filepath.Join(cache, "cache", "download", filepath.FromSlash(path), "@v", version+".mod"))
		return errors.Join(pathErr, versionErr) != nil || source == nil && goMod == nil
	})
}

func required(files []scaffold.File) []module.Version {
	parsed, err := modfile.Parse("go.mod", find(files, "go.mod"), nil)
	if err != nil {
		return nil
	}
	var all []module.Version
	for _, require := range parsed.Require {
		all = append(all, require.Mod)
	}
	return all
}

// Git is the result of creating a git repository.
type Git struct {
	Repository bool   `json:"repository"` // created, with a first commit
	Message    string `json:"message"`    // for people
}

// commit creates a repository with one commit, except inside another repository. If that fails, the
// result has the reason: a project does not need a repository.
func commit(ctx context.Context, to *destination) *Git {
	const byHand = "git init && git add --all && git commit -m 'First commit'"
	if inRepository(to.Dest()) {
		return &Git{Message: "No git repository was created, because the folder is inside one."}
	}
	if _, err := exec.LookPath("git"); err != nil {
		return &Git{Message: "No git repository was created: git is not installed."}
	}
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"var", "GIT_AUTHOR_IDENT"}, // fails if git has no identity for commits
		{"var", "GIT_COMMITTER_IDENT"},
		{"add", "--all", "--force", "."}, // --force: a global gitignore must not apply
		{"commit", "--quiet", "--no-verify", "--no-gpg-sign", "-m", "First commit, by petrock new"},
	} {
		words, err := git(ctx, to.Dir(), args...)
		if err == nil {
			continue
		}
		os.RemoveAll(filepath.Join(to.Dir(), ".git"))
		if args[0] == "var" {
			return &Git{Message: fmt.Sprintf("No git repository was created: git has no identity for commits (%s). Set user.name and user.email with git config --global, then run: %s", words, byHand)}
		}
		return &Git{Message: fmt.Sprintf("No git repository was created: %v: %s. To create one, run: %s", err, words, byHand)}
	}
	return &Git{Repository: true, Message: "Created a git repository with a first commit."}
}

// inRepository reports whether a folder is in a git repository, by its path or by the path without
// symbolic links.
func inRepository(dir string) bool {
	return above(dir, ".git") != "" || above(filepath.Join(unlinked(filepath.Dir(dir)), filepath.Base(dir)), ".git") != ""
}

// unlinked resolves symbolic links in the part of a path that exists.
func unlinked(dir string) string {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		return resolved
	}
	if up := filepath.Dir(dir); up != dir {
		return filepath.Join(unlinked(up), filepath.Base(dir))
	}
	return dir
}

// git runs git in dir, without the user's hooks, and without the environment variables that point
// to another repository. On failure it also returns the last line of git's standard error.
func git(ctx context.Context, dir string, args ...string) (words string, err error) {
	elsewhere := []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX", "GIT_NAMESPACE"}
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(elsewhere, name)
	})
	alone := []string{"-c", "user.useConfigOnly=true", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false"}
	_, errOut, err := process.Run(ctx, process.RunOptions{Dir: dir, Env: env}, "git", append(alone, args...)...)
	if err == nil {
		return "", nil
	}
	lines := bytes.Split(bytes.TrimSpace(errOut), []byte("\n"))
	words = string(lines[len(lines)-1])
	if words == "" {
		words = "no reason given"
	}
	return words, fmt.Errorf("git %s", args[0])
}
