package core_test

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"path"
	"regexp"
	"strings"
)

// docLink matches the first link of a line to a declaration or a package: [Name], [*Type.Method],
// [pkg.Name].
var docLink = regexp.MustCompile(`(?m)^(?:.*?[\s("])??\[\*?([A-Za-z][\w.]*)\](?:$|[\s.,;:)"'])`)

// A linkedPackage is what links can lead to.
type linkedPackage struct {
	names   map[string]bool // of its declarations
	imports []string        // paths
}

// linksResolve finds doc links to declarations that do not exist. As in go doc, links to a field
// and to a package that the package does not import do not resolve. It does not look into the
// packages of other modules.
func linksResolve(t tree) []string {
	packages := map[string]*linkedPackage{} // by folder
	for _, f := range t.sources() {
		p := packages[f.dir()]
		if p == nil {
			p = &linkedPackage{names: map[string]bool{}}
			packages[f.dir()] = p
		}
		for _, name := range f.declared() {
			p.names[name] = true
		}
		for _, imp := range f.imports() {
			p.imports = append(p.imports, imp.path)
		}
	}
	var broken []string
	for _, f := range t.sources() {
		if !matchesAny([]string{"core/...", "generators/..."}, f.dir()) {
			continue
		}
		for _, group := range f.syntax.Comments {
			for _, c := range group.List {
				text := strings.TrimPrefix(c.Text, "//")
				isCode := strings.HasPrefix(text, "\t")
				for _, link := range linksOf(text) {
					if !isCode && !resolves(t, packages, f.dir(), link) {
						broken = append(broken, f.at(c.Pos(), "the link [%s] leads nowhere; name a declaration of this package or of one that it imports", link))
					}
				}
			}
		}
	}
	return broken
}

// linksOf returns the links in a line of a comment.
func linksOf(text string) (links []string) {
	for {
		at := docLink.FindStringSubmatchIndex(text)
		if at == nil {
			return links
		}
		links = append(links, text[at[2]:at[3]])
		text = text[at[3]+1:]
	}
}

// resolves reports whether a link in a package leads to a declaration or a package.
func resolves(t tree, packages map[string]*linkedPackage, dir, link string) bool {
	own := packages[dir]
	pkg, name, _ := strings.Cut(link, ".")
	if own.names[link] {
		return true
	}
	for _, imported := range own.imports {
		if path.Base(imported) == pkg {
			dir, isOurs := t.ours(imported)
			return !isOurs || name == "" || packages[dir] != nil && packages[dir].names[name]
		}
	}
	_, isStandard := comment.DefaultLookupPackage(pkg)
	return isStandard
}

// declared returns the names that f declares: those of the package, and Type.Method.
func (f *goFile) declared() (names []string) {
	for _, d := range f.syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			names = append(names, name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				names = append(names, specNames(spec)...)
			}
		}
	}
	return names
}

func specNames(spec ast.Spec) (names []string) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			names = append(names, name.Name)
		}
	case *ast.TypeSpec:
		names = append(names, s.Name.Name)
		if i, ok := s.Type.(*ast.InterfaceType); ok {
			for _, method := range i.Methods.List {
				for _, name := range method.Names {
					names = append(names, s.Name.Name+"."+name.Name)
				}
			}
		}
	}
	return names
}

// receiver returns the name of the type of a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	}
	return fmt.Sprint(e)
}
