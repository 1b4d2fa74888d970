package typecheck

import (
	"context"
	"go/types"
	"maps"
	"slices"
)

// A Verdict is what is wrong with a project after a change.
type Verdict struct {
	New []Diagnostic // came with the change
	Old []Diagnostic // was there before, as far as it was looked for
}

// Verify type-checks what changes from one view to another, and what imports it, tests included,
// and tells what is wrong now and was not before: by package, file and message. So it finds
// no fault with a change that is as broken as the project was before it.
func (c *Checker) Verify(ctx context.Context, before, after *View) (Verdict, error) {
	changed := differing(before, after)
	if len(changed) == 0 {
		return Verdict{}, nil
	}
	adds := adds(before, after, changed)
	found, err := c.look(ctx, after, changed, PassOptions{Adds: adds})
	if err != nil || len(found) == 0 {
		return Verdict{}, err
	}
	// Shortcuts are for what is right. What is wrong is looked at in full.
	slow := PassOptions{Adds: adds, Slow: true}
	if found, err = c.look(ctx, after, changed, slow); err != nil || len(found) == 0 {
		return Verdict{}, err
	}
	earlier, err := c.look(ctx, before, changed, slow)
	if err != nil {
		return Verdict{}, err
	}
	return compare(earlier, found), nil
}

// compare tells what is new from what is old.
func compare(earlier, found []Diagnostic) Verdict {
	type what struct{ pkg, file, message string }
	known := map[what]int{}
	for _, d := range earlier {
		known[what{d.Package, d.File, d.Message}]++
	}
	var v Verdict
	for _, d := range found {
		w := what{d.Package, d.File, d.Message}
		if known[w]--; known[w] >= 0 {
			v.Old = append(v.Old, d)
		} else {
			v.New = append(v.New, d)
		}
	}
	return v
}

// look type-checks the folders of changed files and what imports them. If the change only adds,
// functions in other files are what they were, and are not looked into.
func (c *Checker) look(ctx context.Context, view *View, changed map[string]bool, o PassOptions) ([]Diagnostic, error) {
	targets := c.targets(view, changed)
	o.Bodies = func(file *File) bool { return targets[file.Dir()] && (!o.Adds || changed[file.Path]) }
	dirs := slices.Sorted(maps.Keys(targets))
	pass, err := c.NewPass(ctx, view, dirs, o)
	if err != nil {
		return nil, err
	}
	var found []Diagnostic
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found = append(found, pass.Test(dir)...)
	}
	if err := pass.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(found, Diagnostic.Compare)
	return slices.Compact(found), nil
}

// Test type-checks a package with all its tests, as they are built, and returns what is wrong.
func (p *Pass) Test(dir string) []Diagnostic {
	pkg := p.pkg(dir)
	if pkg == nil {
		return nil
	}
	path := p.checker.ImportPath(dir)
	var found []Diagnostic
	if len(pkg.Files) > 0 {
		found = append(found, p.check(path, pkg.Files, nil).found...)
	}
	var v *variant
	if len(pkg.Internal) > 0 {
		made := p.check(path, slices.Concat(pkg.Files, pkg.Internal), nil)
		found = append(found, made.found...)
		v = &variant{path: path, pkg: made}
	}
	if len(pkg.External) > 0 && !(p.options.Adds && !p.options.Slow && v == nil && p.apart(path+"_test", pkg.External)) {
		found = append(found, p.check(path+"_test", pkg.External, v).found...)
	}
	for i := range found {
		found[i].Package = path
	}
	return found
}

// targets are the folders of changed files, and those whose packages or tests import one of them,
// directly or not.
func (c *Checker) targets(view *View, changed map[string]bool) map[string]bool {
	targets := map[string]bool{}
	for file := range changed {
		targets[dirOf(file)] = true
	}
	imports := map[string][]string{} // by folder, the folders that the package imports
	tests := map[string][]string{}   // the same for its tests
	for _, dir := range view.Dirs() {
		for _, file := range view.Files(dir) {
			for _, i := range file.Imports() {
				other, ok := c.dir(i.Path)
				switch {
				case !ok:
				case file.IsTest():
					tests[dir] = append(tests[dir], other)
				default:
					imports[dir] = append(imports[dir], other)
				}
			}
		}
	}
	isTarget := func(dir string) bool { return targets[dir] }
	for again := true; again; {
		again = false
		for dir, imported := range imports {
			if !targets[dir] && slices.ContainsFunc(imported, isTarget) {
				targets[dir], again = true, true
			}
		}
	}
	var more []string
	for dir, imported := range tests {
		if slices.ContainsFunc(imported, isTarget) {
			more = append(more, dir)
		}
	}
	for _, dir := range more {
		targets[dir] = true
	}
	return targets
}

// Package is the package in a folder, without its tests, and what is wrong with it. It is nil
// if there is none.
func (p *Pass) Package(dir string) (*types.Package, []Diagnostic) {
	pkg := p.pkg(dir)
	if pkg == nil || len(pkg.Files) == 0 {
		return nil, nil
	}
	made := p.check(p.checker.ImportPath(dir), pkg.Files, nil)
	return made.pkg, made.found
}
