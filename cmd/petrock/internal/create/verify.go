package create

import (
	"bytes"
	"cmp"
	"context"
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
	"github.com/petrock/petrock/generators/typecheck"
)

// verify compiles the project, tests included, and links its programs, as if it were at its
// destination already. What Go compiles so, it finds in its cache when the project is there in truth.
//
// If that fails because of a module that is not on this machine and could not be fetched, it is
// tried without that one: some are for other systems. If it has come meanwhile, by way of
// another process, it is tried again.
func verify(ctx context.Context, to *destination, files []scaffold.File, result *Result) error {
	without := unused(find(files, "go.sum"))
	var first error
	for again := true; ; {
		err := verifyWithout(ctx, to, files, result, without)
		if err == nil || ctx.Err() != nil {
			return err
		}
		first = cmp.Or(first, err)
		named := slices.DeleteFunc(required(files), func(m module.Version) bool {
			return slices.Contains(without, m) || !strings.Contains(err.Error(), m.Path)
		})
		missing := missingModules(ctx, files)
		more := slices.DeleteFunc(slices.Clone(missing), func(m module.Version) bool { return !slices.Contains(named, m) })
		switch {
		case len(more) > 0:
			without = append(without, more...)
		case len(named) > 0 && again:
			again = false
		default:
			return explain(first, missing)
		}
	}
}

func verifyWithout(ctx context.Context, to *destination, files []scaffold.File, result *Result, without []module.Version) error {
	flags, env, err := pretend(to, files, without)
	if err != nil {
		return err
	}
	checked, err := typecheck.CheckPackages(ctx, typecheck.BuildOptions{
		Dir:      to.Scratch(),
		Roots:    []string{to.Dest(), to.Dir()},
		Patterns: packages(files, result.Module),
		Flags:    flags,
		Env:      env,
	})
	if err == nil && len(checked.Diagnostics) > 0 {
		err = &brokenError{checked.Diagnostics}
	}
	if err == nil {
		err = sawAll(checked, files, result.Module)
	}
	return err
}

// packages are the import paths of the packages in the files.
func packages(files []scaffold.File, module string) []string {
	var all []string
	for _, file := range files {
		if path.Ext(file.Path) == ".go" {
			all = append(all, module+"/"+path.Dir(file.Path))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sawAll makes sure that Go has looked at the project, and at all of it.
func sawAll(checked *typecheck.BuildResult, files []scaffold.File, module string) error {
	for _, pkg := range packages(files, module) {
		if !slices.Contains(checked.Packages, pkg) {
			return fmt.Errorf("the go command has not compiled %s, and does not say why", pkg)
		}
	}
	if len(checked.Programs) < 2 {
		return errors.New("the go command has not built the programs, and does not say why")
	}
	return nil
}

// A brokenError says that what was written does not compile.
type brokenError struct{ found []typecheck.Diagnostic }

func (e *brokenError) Error() string {
	var text strings.Builder
	text.WriteString("the project does not compile, so it was not made:")
	for _, d := range e.found[:min(10, len(e.found))] {
		fmt.Fprintf(&text, "\n%s", d)
	}
	return text.String()
}

// explain adds the way out to an error, if it speaks of a module that is missing.
func explain(err error, missing []module.Version) error {
	spoken := func(m module.Version) bool { return strings.Contains(err.Error(), m.Path) }
	if !slices.ContainsFunc(missing, spoken) {
		return err
	}
	var names []string
	for _, m := range missing {
		names = append(names, m.String())
	}
	return fmt.Errorf("modules that the project needs are not on this machine. With a network, run\n  go mod download %s\nand try again. Go says:\n%w", strings.Join(names, " "), err)
}

// missingModules are those that the project requires and that are not in Go's module cache. If
// that cannot be told, there are none.
func missingModules(ctx context.Context, files []scaffold.File) []module.Version {
	out, _, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{}, "go", "env", "GOMODCACHE")
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

// required are the modules that the project's go.mod names.
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

// Git says what was done about version control, and why.
type Git struct {
	Repository bool   `json:"repository"` // whether one was made, with a first commit
	Said       string `json:"said"`
}

// commit makes a repository of what is to be moved, with one commit, if that can be done and
// is wanted: not inside another repository. A project without one is a project all the
// same, so nothing here is an error.
func commit(ctx context.Context, to *destination) *Git {
	const byHand = "git init && git add --all && git commit -m 'First commit'"
	if inRepository(to.Dest()) {
		return &Git{Said: "It is inside a git repository, so it has none of its own."}
	}
	if _, err := exec.LookPath("git"); err != nil {
		return &Git{Said: "It has no git repository: there is no git command here."}
	}
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"var", "GIT_AUTHOR_IDENT"}, // whether git knows, in this repository, who the user is
		{"var", "GIT_COMMITTER_IDENT"},
		{"add", "--all", "--force", "."}, // --force: what a user ignores everywhere is not meant for these
		{"commit", "--quiet", "--no-verify", "--no-gpg-sign", "-m", "First commit, as petrock made it"},
	} {
		words, err := git(ctx, to.Dir(), args...)
		if err == nil {
			continue
		}
		os.RemoveAll(filepath.Join(to.Dir(), ".git"))
		if args[0] == "var" {
			return &Git{Said: fmt.Sprintf("It has no git repository: git does not know who you are (%s). Set user.name and user.email with git config --global, then there: %s", words, byHand)}
		}
		return &Git{Said: fmt.Sprintf("It has no git repository: %v: %s. By hand: %s", err, words, byHand)}
	}
	return &Git{Repository: true, Said: "It is a git repository with a first commit."}
}

// inRepository reports whether a folder is below a git repository's, by the path that it
// is called by or by the one that it really has.
func inRepository(dir string) bool {
	return above(dir, ".git") != "" || above(filepath.Join(unlinked(filepath.Dir(dir)), filepath.Base(dir)), ".git") != ""
}

// unlinked is a path without links, as far as there is something.
func unlinked(dir string) string {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		return resolved
	}
	if up := filepath.Dir(dir); up != dir {
		return filepath.Join(unlinked(up), filepath.Base(dir))
	}
	return dir
}

// git runs git in dir and nowhere else: in a hook, say, the environment points to another
// repository. Nothing of what the user has git do along the way is done here. The
// words are the last that git said.
func git(ctx context.Context, dir string, args ...string) (words string, err error) {
	elsewhere := []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX", "GIT_NAMESPACE"}
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(elsewhere, name)
	})
	alone := []string{"-c", "user.useConfigOnly=true", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false"}
	_, errOut, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{Dir: dir, Env: env}, "git", append(alone, args...)...)
	if err == nil {
		return "", nil
	}
	lines := bytes.Split(bytes.TrimSpace(errOut), []byte("\n"))
	words = string(lines[len(lines)-1])
	if words == "" {
		words = "it does not say why"
	}
	return words, fmt.Errorf("git %s", args[0])
}
