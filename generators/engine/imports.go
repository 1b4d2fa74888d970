package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/format"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// addImports adds imports to a file: those that it names, and those that its text lacks. It also
// returns the names for which it found no package.
func (s snapshot) addImports(ctx context.Context, file gen.File) ([]byte, []imports.Missing, error) {
	text, err := s.engine.resolver.Insert(ctx, s.view, file.Path, file.Text, file.Imports)
	if err != nil {
		return nil, nil, err
	}
	return s.engine.resolver.Add(ctx, s.view, file.Path, text)
}

// completeGo adds missing imports to planned Go files, removes unused ones, and formats the files.
// It returns the names for which it found no package.
func (s snapshot) completeGo(ctx context.Context, texts map[string][]byte) (missing []imports.Missing, err error) {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		planned := s.with(texts)
		if planned.view.File(name) == nil {
			continue // deleted, not Go, or in testdata
		}
		text, err := s.engine.resolver.RemoveUnused(ctx, planned.view, name, texts[name])
		if err != nil {
			return nil, err
		}
		text, unknown, err := planned.addImports(ctx, gen.File{Path: name, Text: text})
		if err != nil {
			return nil, err
		}
		texts[name], missing = formatted(name, text), append(missing, unknown...)
	}
	return missing, nil
}

// formatted returns the text of a file, formatted if it is Go that parses.
func formatted(file string, text []byte) []byte {
	if path.Ext(file) == ".go" {
		if formatted, err := format.Source(text); err == nil {
			return formatted
		}
	}
	return text
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
