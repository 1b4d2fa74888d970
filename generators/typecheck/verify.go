package typecheck

import (
	"context"
	"go/types"
	"maps"
	"path"
	"slices"
)

// A Verdict is the errors of a project after a change.
type Verdict struct {
	New []Diagnostic // caused by the change
	Old []Diagnostic // existing errors of the packages that were checked
}

// Verify type-checks the packages that change from one view to another, and those that import them,
// tests included. An error is new if its package did not have it before: same file, same message.
func (c *Checker) Verify(ctx context.Context, before, after *View) (Verdict, error) {
	changed := changedFiles(before, after)
	if len(changed) == 0 {
		return Verdict{}, nil
	}
	found, err := c.checkChanged(ctx, after, changed)
	if err != nil || len(found) == 0 {
		return Verdict{}, err
	}
	earlier, err := c.checkChanged(ctx, before, changed)
	if err != nil {
		return Verdict{}, err
	}
	return compare(earlier, found), nil
}

// changedFiles returns the paths of the files that differ between two views.
func changedFiles(before, after *View) map[string]bool {
	changed := map[string]bool{}
	for _, pair := range [2][2]*View{{before, after}, {after, before}} {
		for _, dir := range pair[0].Dirs() {
			for _, file := range pair[0].Files(dir) {
				if pair[1].File(file.Path) != file {
					changed[file.Path] = true
				}
			}
		}
	}
	return changed
}

// compare separates new errors from old ones.
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

// checkChanged type-checks the packages of changed files, and those that import them. Of all other
// packages only the declarations are checked.
func (c *Checker) checkChanged(ctx context.Context, view *View, changed map[string]bool) ([]Diagnostic, error) {
	targets := c.targets(view, changed)
	dirs := slices.Sorted(maps.Keys(targets))
	pass, err := c.NewPass(ctx, view, dirs, PassOptions{Bodies: func(file *File) bool { return targets[file.Dir()] }})
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

// Test type-checks a package with all its tests, as the go command builds them.
func (p *Pass) Test(dir string) []Diagnostic {
	pkg := p.pkg(dir)
	if pkg == nil {
		return nil
	}
	importPath := p.checker.ImportPath(dir)
	var found []Diagnostic
	if len(pkg.Files) > 0 {
		found = append(found, p.check(importPath, pkg.Files, nil).found...)
	}
	var v *variant
	if len(pkg.Internal) > 0 {
		made := p.check(importPath, slices.Concat(pkg.Files, pkg.Internal), nil)
		found = append(found, made.found...)
		v = &variant{path: importPath, pkg: made}
	}
	if len(pkg.External) > 0 {
		found = append(found, p.check(importPath+"_test", pkg.External, v).found...)
	}
	for i := range found {
		found[i].Package = importPath
	}
	return found
}

// targets returns the folders of changed files, and those whose packages or tests import one of them,
// directly or not.
func (c *Checker) targets(view *View, changed map[string]bool) map[string]bool {
	targets := map[string]bool{}
	for file := range changed {
		targets[path.Dir(file)] = true
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

// Package returns the package in a folder, without its tests, and its errors. It is nil if there is
// none.
func (p *Pass) Package(dir string) (*types.Package, []Diagnostic) {
	pkg := p.pkg(dir)
	if pkg == nil || len(pkg.Files) == 0 {
		return nil, nil
	}
	made := p.check(p.checker.ImportPath(dir), pkg.Files, nil)
	return made.pkg, made.found
}
