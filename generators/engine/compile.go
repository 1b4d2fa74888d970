package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// compile compiles the packages of a plan with the go command where types in memory cannot tell
// whether they compile, see toCompile. It refuses a plan with errors that the project did not have.
func (e *Engine) compile(ctx context.Context, c *verified) error {
	dirs, all := e.toCompile(c)
	if len(dirs) == 0 && !all {
		return nil
	}
	e.step("compiling with the go command")
	temp, err := os.MkdirTemp("", "petrock")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	overlay, err := typecheck.WriteOverlay(temp, e.project.Root, c.texts)
	if err != nil {
		return err
	}
	removeFolders, err := typecheck.MakeFolders(e.project.Root, patterns(c.after, c.dirs()))
	defer removeFolders()
	if err != nil {
		return err
	}
	after, _, err := e.goErrors(ctx, c.after, dirs, all, typecheck.BuildOptions{
		Roots: []string{e.project.Root, filepath.Join(temp, "files")}, Flags: []string{"-overlay=" + overlay},
	})
	unseen := c.unseenByGo()
	if err != nil || len(after)+len(unseen) == 0 {
		return err
	}
	before, isLoaded, err := e.goErrors(ctx, e.before, dirs, all, typecheck.BuildOptions{})
	switch {
	case err != nil:
		return err
	case !isLoaded: // nothing to compare with
		c.result.Diagnostics = append(c.result.Diagnostics, after...)
		return nil
	case len(unseen) > 0:
		return &Refusal{
			Reason:    "the go command reads these files only from disk, so they cannot be verified before they are written:",
			Conflicts: unseen,
			Remedy:    "Nothing was changed. Change them in a terminal; go mod vendor writes the folder vendor.",
		}
	}
	found := withoutExisting(after, before)
	refusal := &Refusal{cause: causeCompile, Reason: wouldNotCompile, Diagnostics: withSource(found, c.after), Remedy: c.compileRemedy(found)}
	if c.tidied {
		refusal.Reason = "the project would not compile with the new go.mod:"
	}
	return refusal.orNil()
}

// goErrors returns what go build reports about the packages in dirs and those that import them, or
// about all packages. If that is nothing, it returns what go vet reports about the packages in
// dirs, or about all but petrock's. isLoaded is false if the go command found no packages to build.
func (e *Engine) goErrors(ctx context.Context, view *typecheck.View, dirs []string, all bool, o typecheck.BuildOptions) (found []typecheck.Diagnostic, isLoaded bool, err error) {
	o.Dir, o.Env, o.Flags = e.project.Root, slices.Concat(e.system.Env, []string{"PWD=" + e.project.Root}), slices.Concat(e.system.Flags, o.Flags)
	if o.Patterns = patterns(view, e.checker.Importers(view, dirs...)); len(o.Patterns) == 0 && !all {
		return nil, true, nil
	}
	if all {
		o.Patterns = []string{"./..."}
		dirs = slices.DeleteFunc(view.Dirs(), isPetrockPath)
	}
	result, err := typecheck.CheckPackages(ctx, o)
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return []typecheck.Diagnostic{{Message: err.Error()}}, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if len(result.Packages) == 0 && len(result.Diagnostics) > 0 {
		return result.Diagnostics, false, nil
	}
	if o.Patterns = patterns(view, dirs); len(result.Diagnostics) > 0 || len(o.Patterns) == 0 {
		return result.Diagnostics, true, nil
	}
	found, err = typecheck.Build(ctx, o, "vet", "-cgocall=false") // cgocall reads files without the overlay
	for i := range found {
		found[i].Message = typecheck.VetMark + strings.TrimPrefix(found[i].Message, typecheck.VetMark)
	}
	return found, true, err
}

// patterns returns the patterns of the packages in folders.
func patterns(view *typecheck.View, dirs []string) (all []string) {
	for _, dir := range dirs {
		if view.Package(dir, nil) != nil {
			all = append(all, "./"+dir)
		}
	}
	return all
}

// unseenByGo returns the files of a plan that the go command cannot read from an overlay.
func (c *verified) unseenByGo() (names []string) {
	for _, f := range c.files {
		if f.Path == "vendor/modules.txt" || f.After != nil && path.Ext(f.Path) == ".syso" {
			names = append(names, f.Path)
		}
	}
	return names
}

// toCompile returns the folders of packages that only the go command can verify: those with changed
// files that are not plain Go, or whose embedded files were created or deleted. all means the whole
// project: modules have changed.
func (e *Engine) toCompile(c *verified) (dirs []string, all bool) {
	found := map[string]bool{}
	for _, f := range c.files {
		dir, base := path.Dir(f.Path), path.Base(f.Path)
		switch {
		case isPetrockPath(f.Path):
			continue
		case f.Path == "go.mod" || f.Path == "go.sum":
			all = all || c.tidied
		case base == "go.mod" || strings.HasPrefix(base, "go.work") || strings.HasPrefix(f.Path, "vendor/"):
			all = true
		}
		was, is := e.before.File(f.Path), c.after.File(f.Path)
		if was != nil || is != nil {
			found[dir] = found[dir] || e.needsCompiler(c, dir, was, is)
		} else if isForeign(base) {
			found[dir] = true
		}
		for above := dir; ; above = path.Dir(above) {
			if (f.Before == nil) != (f.After == nil) && e.hasGo(c, above, embeds) || isForeign(base) && e.hasGo(c, above, (*typecheck.File).UsesCgo) {
				found[above] = true
			}
			if above == "." {
				break
			}
		}
	}
	maps.DeleteFunc(found, func(_ string, needed bool) bool { return !needed })
	return slices.Sorted(maps.Keys(found)), all
}

func embeds(file *typecheck.File) bool { return strings.Contains(string(file.Text), "//go:embed") }

// isForeign reports whether the go command compiles a file that is not Go, or includes it in one.
func isForeign(name string) bool {
	extensions := ".c .cc .cpp .cxx .m .h .hh .hpp .hxx .f .F .for .f90 .s .S .sx .swig .swigcxx .syso"
	return slices.Contains(strings.Fields(extensions), path.Ext(name))
}

// hasGo reports whether a Go file of a folder has a property, before or after a plan.
func (e *Engine) hasGo(c *verified, dir string, property func(*typecheck.File) bool) bool {
	return slices.ContainsFunc(slices.Concat(e.before.Files(dir), c.after.Files(dir)), property)
}

// needsCompiler reports whether only the go command can verify the change of a Go file; was or is
// may be nil.
func (e *Engine) needsCompiler(c *verified, dir string, was, is *typecheck.File) bool {
	declaresMain := func(file *typecheck.File) bool {
		return file != nil && file.Syntax.Name.Name == "main" && slices.Contains(file.Names(), "main")
	}
	if was != nil && was.NeedsCompiler() || is != nil && is.NeedsCompiler() || declaresMain(was) != declaresMain(is) || e.hasGo(c, dir, (*typecheck.File).UsesCgo) {
		return true
	}
	if pkg := c.after.Package(dir, nil); is != nil && pkg != nil &&
		(strings.TrimSuffix(is.Syntax.Name.Name, "_test") != pkg.Name || module.CheckImportPath(e.checker.ImportPath(dir)) != nil) {
		return true // two packages in one folder, or a folder that cannot be one
	}
	entries, _ := fs.ReadDir(e.root.FS(), dir) // fails if the folder is new
	return slices.ContainsFunc(entries, func(entry fs.DirEntry) bool { return isForeign(entry.Name()) })
}

// planGoMod completes a planned go.mod and plans go.sum, with go mod tidy. Verify compiles the
// whole project with them.
func (e *Engine) planGoMod(ctx context.Context, p *plan) error {
	text, planned := p.texts["go.mod"]
	if !planned {
		e.useModules(p)
		return nil
	}
	parsed, err := modfile.ParseLax("go.mod", text, nil)
	switch {
	case err != nil:
		return &Refusal{Reason: fmt.Sprintf("edit go.mod: %v", err), Remedy: "Nothing was changed."}
	case parsed.Module == nil || parsed.Module.Mod.Path != e.checker.Module().Path:
		return &Refusal{Reason: "edit go.mod: a project needs it, with the module path of its imports, " + e.checker.Module().Path, Remedy: "Nothing was changed. Keep the module directive."}
	}
	goSum, err := e.textOf(p.texts, "go.sum")
	if err != nil {
		return err
	}
	present := presentParts(e.before.With(p.texts))
	newMod, newSum, err := e.runTidy(ctx, p, text, goSum, present)
	if err != nil {
		return err
	}
	if changed := changedModules(text, newMod); len(changed) > 0 {
		p.notices = append(p.notices, fmt.Sprintf("go mod tidy added modules to go.mod, or removed those that no package needs: %s. Edit go.mod together with the Go code that imports a module.", joinFew(changed)))
	}
	p.texts["go.mod"], p.texts["go.sum"] = newMod, newSum
	e.useModules(p)
	return nil
}

// useModules makes verify use planned module files, and compile the whole project with a planned
// go.mod.
func (e *Engine) useModules(p *plan) {
	p.tidied = p.texts["go.mod"] != nil
	e.cache.PlanModules(p.texts)
}

func isPresent(part parts.Part, view *typecheck.View) bool {
	return slices.ContainsFunc(view.Dirs(), func(dir string) bool { return part.Holds(dir) && len(view.Files(dir)) > 0 })
}

func presentParts(view *typecheck.View) []string {
	var names []string
	for _, part := range parts.All() {
		if isPresent(part, view) {
			names = append(names, part.Name)
		}
	}
	return names
}

// changedModules returns the paths of modules that only one of two go.mod files requires.
func changedModules(old, now []byte) []string {
	required := map[string]int{}
	for _, text := range [][]byte{old, now} {
		if parsed, err := modfile.ParseLax("go.mod", text, nil); err == nil {
			for _, r := range parsed.Require {
				required[r.Mod.Path]++
			}
		}
	}
	maps.DeleteFunc(required, func(_ string, files int) bool { return files > 1 })
	return slices.Sorted(maps.Keys(required))
}

// runTidy runs go mod tidy, which reads the planned files and writes to copies. The parts must
// stay.
func (e *Engine) runTidy(ctx context.Context, p *plan, goMod, goSum []byte, present []string) (newMod, newSum []byte, err error) {
	e.step("running go mod tidy on a copy of go.mod")
	dir, err := os.MkdirTemp("", "petrock")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	copied, err := parts.Require(goMod, present)
	if err != nil {
		return nil, nil, err
	}
	modFile, sumFile := filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")
	overlay, err := typecheck.WriteOverlay(dir, e.project.Root, p.texts)
	if err := errors.Join(err, os.WriteFile(modFile, copied, 0o644), os.WriteFile(sumFile, goSum, 0o644)); err != nil {
		return nil, nil, err
	}
	flags := slices.DeleteFunc(strings.Fields(os.Getenv("GOFLAGS")), func(flag string) bool {
		return strings.HasPrefix(strings.TrimLeft(flag, "-"), "mod")
	})
	env := slices.Concat(os.Environ(), e.system.Env, []string{"GOWORK=off", "GOFLAGS=" + strings.Join(flags, " ")})
	// With -e, tidy continues if the user imports a package that does not exist.
	_, stderr, err := process.Run(ctx, process.RunOptions{Dir: e.project.Root, Env: env}, "go", "mod", "tidy", "-e", "-modfile="+modFile, "-overlay="+overlay)
	if err != nil {
		return nil, nil, &Refusal{
			Reason:    "go mod tidy failed:",
			Conflicts: strings.Split(strings.TrimSpace(cmp.Or(string(stderr), err.Error())), "\n"),
			Remedy:    "Nothing was changed. If a module is not downloaded, connect to the network, run go mod download, and try again.",
		}
	}
	newMod, modErr := os.ReadFile(modFile)
	newSum, sumErr := os.ReadFile(sumFile)
	return newMod, newSum, errors.Join(modErr, sumErr)
}

func importPaths(files ...*typecheck.File) []string {
	var all []string
	for _, file := range files {
		for _, i := range file.Imports() {
			all = append(all, i.Path)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
