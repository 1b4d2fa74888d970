package typecheck

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// extend makes a package of one that was checked before and of files that are new to it: in a package
// of hundreds of files, only those are looked at. It is nil if there is none to extend, or
// if the new files might do more than add to it.
func (p *Pass) extend(path string, files []*File, importing *imports) *checked {
	if importing.variant != nil || p.options.Slow {
		return nil
	}
	for _, base := range p.checker.kept[path] {
		extra, ok := p.beyond(base, files)
		if !ok || base.deps != p.deps(base.files, importing) {
			continue
		}
		pkg := types.NewPackage(path, base.pkg.Name())
		for _, name := range base.pkg.Scope().Names() {
			pkg.Scope().Insert(base.pkg.Scope().Lookup(name))
		}
		made := &checked{path: path, pkg: pkg, files: files}
		var errs []error
		syntax, whole := p.syntax(extra)
		types.NewChecker(p.config(importing, &errs), p.checker.fset, pkg, nil).Files(syntax) // the error is the first of errs
		made.found = append(slices.Clone(base.found), p.diagnose(path, extra, whole, errs)...)
		return made
	}
	return nil
}

// beyond are the files that a package has not seen, if it has seen all others, as they are to be
// looked at now, and if those add to it and nothing else.
func (p *Pass) beyond(base *checked, files []*File) ([]*File, bool) {
	const most = 16 // beyond that it is no gain
	if !base.bare || len(base.found) > 0 || len(base.files) >= len(files) || len(files)-len(base.files) > most {
		return nil, false
	}
	seen := make(map[*File]bool, len(base.files))
	for _, file := range base.files {
		seen[file] = true
	}
	var extra []*File
	for _, file := range files {
		switch {
		case !seen[file]:
			extra = append(extra, file)
		case p.bodies(file):
			return nil, false
		}
	}
	if len(base.files)+len(extra) != len(files) {
		return nil, false
	}
	return extra, standApart(extra, base.files)
}

// standApart reports whether files add to others and nothing else, and whether none of the others
// imports something under a name that they declare.
func standApart(extra, others []*File) bool {
	declared := map[string]bool{}
	for _, file := range extra {
		if !AddsOnly(file) {
			return false
		}
		for _, name := range file.Names() {
			declared[name] = true
		}
	}
	for _, file := range others {
		for _, spec := range file.Syntax.Imports {
			if slices.ContainsFunc(localNames(spec), func(name string) bool { return name == "." || declared[name] }) {
				return false
			}
		}
	}
	return true
}

// localNames are the names that an import may have in its file: the one that is given, or some
// word of its path, as far as that can be told by itself.
func localNames(spec *ast.ImportSpec) []string {
	if spec.Name != nil {
		return []string{spec.Name.Name}
	}
	return strings.FieldsFunc(spec.Path.Value, func(r rune) bool { return strings.ContainsRune("\"`/.-", r) })
}

// apart type-checks new tests by themselves, which is enough if they declare nothing that others
// do, and need nothing of them. It reports whether it was.
func (p *Pass) apart(path string, files []*File) bool {
	var extra, others []*File
	names := map[string]bool{}
	for _, file := range files {
		if p.bodies(file) {
			extra = append(extra, file)
			continue
		}
		others = append(others, file)
		for _, name := range file.Names() {
			names[name] = true
		}
	}
	for _, file := range extra {
		if slices.ContainsFunc(file.Names(), func(name string) bool { return names[name] }) {
			return false
		}
	}
	return standApart(extra, others) && (len(extra) == 0 || len(p.check(path, extra, nil).found) == 0)
}

// AddsOnly reports whether a new file leaves all that is derived from the other files of its package
// as it was: it gives no method and no constant to a type from elsewhere.
func AddsOnly(file *File) bool {
	declared := declarations(file)
	if file.Err != nil || !harmless(declared) {
		return false
	}
	for _, decl := range file.Syntax.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			if name, ok := value.Type.(*ast.Ident); value.Type != nil && (!ok || declared[name.Name] == "" && types.Universe.Lookup(name.Name) == nil) {
				return false
			}
			if slices.ContainsFunc(value.Values, func(e ast.Expr) bool { _, literal := e.(*ast.BasicLit); return !literal }) {
				return false
			}
		}
	}
	return true
}

// Deps stands for what files import from the project, as the pass sees it.
func (p *Pass) Deps(dir string, files []*File) string {
	p.loading = append(p.loading, p.checker.ImportPath(dir))
	defer func() { p.loading = p.loading[:len(p.loading)-1] }()
	return p.deps(files, &imports{pass: p})
}
