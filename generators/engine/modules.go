package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

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

// plannedModules returns the planned go.mod and go.sum, or else those on disk.
func (e *Engine) plannedModules(p *plan) (goMod, goSum []byte, err error) {
	goMod, modErr := e.textOf(p, "go.mod")
	goSum, sumErr := e.textOf(p, "go.sum")
	return goMod, goSum, errors.Join(modErr, sumErr)
}

// compareModules returns the paths of modules that only one of two go.mod files requires, and describes
// changed versions of the others.
func compareModules(old, now []byte) (different, versions []string) {
	required := [2]map[string]string{{}, {}}
	for i, text := range [][]byte{old, now} {
		if parsed, err := modfile.ParseLax("go.mod", text, nil); err == nil {
			for _, r := range parsed.Require {
				required[i][r.Mod.Path] = r.Mod.Version
			}
		}
	}
	all := maps.Clone(required[0])
	maps.Copy(all, required[1])
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch before, after := required[0][name], required[1][name]; {
		case before == "" || after == "":
			different = append(different, name)
		case before != after:
			versions = append(versions, fmt.Sprintf("%s %s becomes %s", name, before, after))
		}
	}
	return different, versions
}

// runTidy runs go mod tidy, which reads the planned files and writes to copies. The parts must stay.
func (e *Engine) runTidy(ctx context.Context, p *plan, goMod, goSum []byte, present []string) (newMod, newSum []byte, err error) {
	e.step("running go mod tidy on a copy of go.mod")
	dir, err := os.MkdirTemp("", "petrock")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	copied, err := withParts(goMod, present)
	if err != nil {
		return nil, nil, err
	}
	modFile, sumFile := filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")
	overlay, err := e.overlay(p, dir)
	if err := errors.Join(err, os.WriteFile(modFile, copied, 0o644), os.WriteFile(sumFile, goSum, 0o644)); err != nil {
		return nil, nil, err
	}
	flags := slices.DeleteFunc(strings.Fields(os.Getenv("GOFLAGS")), func(flag string) bool {
		return strings.HasPrefix(strings.TrimLeft(flag, "-"), "mod")
	})
	env := append(os.Environ(), "GOWORK=off", "GOFLAGS="+strings.Join(flags, " "))
	// With -e, tidy continues if the user imports a package that does not exist.
	_, stderr, err := typecheck.RunCommand(ctx, typecheck.CommandOptions{Dir: e.project.Root, Env: env}, "go", "mod", "tidy", "-e", "-modfile="+modFile, "-overlay="+overlay)
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

// verifyModules refuses a plan whose changed modules break packages of the project.
func (e *Engine) verifyModules(ctx context.Context, p *plan) error {
	e.step("compiling the project with the changed modules")
	dir, err := os.MkdirTemp("", "petrock")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	overlay, err := e.overlay(p, dir)
	if err != nil {
		return err
	}
	after, err := typecheck.CheckPackages(ctx, typecheck.BuildOptions{Dir: e.project.Root, Flags: []string{"-overlay=" + overlay}})
	if err != nil || len(after.Diagnostics) == 0 {
		return err
	}
	before, err := typecheck.CheckPackages(ctx, typecheck.BuildOptions{Dir: e.project.Root})
	if err != nil {
		return err
	}
	refusal := &Refusal{Reason: "the project would not compile with the new go.mod:", Remedy: "Nothing was changed."}
	refusal.Diagnostics = withoutExisting(after.Diagnostics, before.Diagnostics)
	return refusal.orNil()
}

// overlay writes an overlay with the planned Go files, go.mod and go.sum.
func (e *Engine) overlay(p *plan, dir string) (file string, err error) {
	files := maps.Clone(p.texts)
	maps.DeleteFunc(files, func(name string, _ []byte) bool {
		return !strings.HasSuffix(name, ".go") && name != "go.mod" && name != "go.sum"
	})
	return typecheck.WriteOverlay(dir, e.project.Root, files)
}

// withParts adds the requirements of parts to a go.mod, or raises their versions.
func withParts(goMod []byte, names []string) ([]byte, error) {
	parsed, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return nil, fmt.Errorf("parse %w", err)
	}
	for _, name := range names {
		part, _ := parts.Find(name)
		required, err := part.Required()
		if err != nil {
			return nil, err
		}
		for _, m := range required {
			versions := []module.Version{m}
			for _, r := range parsed.Require {
				if r.Mod.Path == m.Path {
					versions = append(versions, r.Mod)
				}
			}
			module.Sort(versions)
			if err := parsed.AddRequire(m.Path, versions[len(versions)-1].Version); err != nil {
				return nil, fmt.Errorf("go.mod: %w", err)
			}
		}
	}
	parsed.Cleanup()
	return parsed.Format()
}

// checkDownloaded refuses a plan whose part imports packages of modules that are not downloaded.
func (e *Engine) checkDownloaded(ctx context.Context, p *plan, part parts.Part, files map[string][]byte) error {
	view := e.before.With(p.texts)
	var code []*typecheck.File
	for name := range files {
		if file := view.File(name); file != nil {
			code = append(code, file)
		}
	}
	imported := slices.DeleteFunc(importPaths(code...), func(i string) bool {
		return i == "unsafe" || strings.HasPrefix(i, e.checker.Module().Path+"/")
	})
	e.step("compiling the modules of the part " + part.Name)
	exports, err := e.cache.Find(ctx, imported)
	if err != nil {
		return err
	}
	var reasons []string
	for _, i := range imported {
		if !exports.Has(i) {
			reasons = append(reasons, exports.Reason(i))
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	required, err := part.Required()
	if err != nil {
		return err
	}
	command := "go mod download"
	for _, m := range required {
		command += " " + m.String()
	}
	return &Refusal{
		Reason:    fmt.Sprintf("modules of part %s are not downloaded:", part.Name),
		Conflicts: reasons,
		Remedy:    "Nothing was changed. Connect to the network, run this command, and try again:\n  " + command,
	}
}

// completeModules adds missing lines to go.mod and go.sum for the parts of the project, for example after a
// merge.
func (e *Engine) completeModules(p *plan) error {
	present := presentParts(e.before)
	goMod, goSum, err := e.plannedModules(p)
	if err != nil || len(present) == 0 || p.plans("go.mod") {
		return err
	}
	isIncomplete := false
	for _, name := range present {
		part, _ := parts.Find(name)
		required, err := part.Required()
		if err != nil {
			return err
		}
		for _, m := range required {
			isRequired := bytes.Contains(goMod, []byte(m.Path+" v"))
			hasOurVersion := bytes.Contains(goMod, []byte(m.Path+" "+m.Version))
			hasSum := bytes.Contains(goSum, []byte(m.Path+" "+m.Version+" h1:"))
			isIncomplete = isIncomplete || !isRequired || hasOurVersion && !hasSum
		}
	}
	if !isIncomplete {
		return nil
	}
	newMod, newSum, ok, err := parts.ChangeModules(goMod, goSum, present, present, nil)
	if err != nil || !ok {
		return err
	}
	for name, text := range map[string][]byte{"go.mod": newMod, "go.sum": newSum} {
		p.texts[name], p.recomputed[name] = text, true
	}
	e.cache.PlanModules(newMod, newSum)
	return nil
}
