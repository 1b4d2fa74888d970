package imports

import (
	"context"
	"go/ast"
	"go/types"
	"slices"
)

// A want is a package that a file lacks: its name and the selectors that the file uses.
type want struct {
	name      string
	selectors []string
}

// lacks names the selectors that a package does not have; it is empty if it has them all.
func (w want) lacks(has func(name string) bool) string {
	var lacking []string
	for _, selector := range w.selectors {
		if !has(selector) {
			lacking = append(lacking, selector)
		}
	}
	if len(lacking) == 0 {
		return ""
	}
	return "has no " + enumerate(lacking, "or")
}

// references returns the identifiers before a dot that neither the file nor Go declares, each with the
// exported names after the dot, sorted.
func references(file *ast.File) map[string][]string {
	unresolved := map[*ast.Ident]bool{}
	for _, name := range file.Unresolved {
		unresolved[name] = true
	}
	found := map[string][]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := selector.X.(*ast.Ident)
		if ok && unresolved[x] && selector.Sel.IsExported() && x.Name != "_" && types.Universe.Lookup(x.Name) == nil {
			found[x.Name] = append(found[x.Name], selector.Sel.Name)
		}
		return true
	})
	for name, selectors := range found {
		slices.Sort(selectors)
		found[name] = slices.Compact(selectors)
	}
	return found
}

// removeDeclared removes the names that other files of the package declare, and those of the file's
// imports.
func (s *Seeker) removeDeclared(ctx context.Context, p *place, syntax *ast.File, wanted map[string][]string) error {
	for _, file := range p.siblings() {
		for _, name := range file.Names() {
			delete(wanted, name)
		}
	}
	var unnamed []string
	for _, spec := range syntax.Imports {
		switch i := importOf(spec); i.Name {
		case "":
			unnamed = append(unnamed, i.Path)
		case ".":
			for name := range wanted {
				if ast.IsExported(name) {
					delete(wanted, name) // it may come from the dot import
				}
			}
		default:
			delete(wanted, i.Name)
		}
	}
	for _, path := range unnamed {
		if err := s.removeImported(ctx, p, path, wanted); err != nil {
			return err
		}
	}
	return nil
}

// removeImported removes the name of an import without a name: the one that its path implies if the
// file uses that, or else the one in the package clause.
func (s *Seeker) removeImported(ctx context.Context, p *place, path string, wanted map[string][]string) error {
	if pkg := p.inside(path); pkg != nil {
		delete(wanted, pkg.Name)
		return nil
	}
	before := len(wanted)
	delete(wanted, lastElement(path))
	delete(wanted, nameByPath(path))
	if len(wanted) < before || len(wanted) == 0 || path == "C" || s.standard.has(path) {
		return nil
	}
	modules, err := s.required(ctx, p)
	if err != nil {
		return err
	}
	if pkg := modules.byPath[path]; pkg != nil {
		delete(wanted, pkg.Name)
	}
	return nil
}
