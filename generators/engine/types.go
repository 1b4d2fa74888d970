package engine

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// Types are components of kind type: exported structs and strings that are neither commands,
// queries and workers nor the state of a feature. They need no mark, so hand-written ones are found
// too, in every clone.

// typePackages returns the packages with types, except those of petrock and of programs.
func (s snapshot) typePackages() (packages []*derive.Package) {
	for _, dir := range s.view.Dirs() {
		files := slices.DeleteFunc(slices.Clone(s.view.Files(dir)), func(f *typecheck.File) bool {
			return f.IsTest() || f.IsDerived() || f.Syntax.Name.Name == "main"
		})
		if isPetrockPath(dir) || dir == derive.OwnGenerators || len(files) == 0 {
			continue
		}
		place, isPlace := derive.PlaceAt(dir)
		methods := map[string]bool{} // types with a method of a command, query or worker
		for _, file := range files {
			for function := range nodesOf[*ast.FuncDecl](file.Syntax) {
				if name := function.Name.Name; name == "Apply" || name == "Answer" || name == "Every" || startsWithWord(name, "On") {
					methods[receiverName(function)] = true
				}
			}
		}
		pkg := &derive.Package{Place: derive.Place{Dir: dir, Kind: derive.Type}}
		for _, file := range files {
			for _, spec := range typeSpecs(file) {
				name := spec.Name.Name
				if isPlace && (methods[name] || place.IsReserved(name)) {
					continue
				}
				doc, _ := docAt(file, spec.Name.Pos())
				about, _, _ := strings.Cut(doc.Text(), "\n")
				c := derive.Component{
					Kind: derive.Type, Name: derive.TypeName(dir, name, s.hasPackage), Func: name, Description: about,
					File: file.Path, Line: s.view.Fset().PositionFor(spec.Pos(), false).Line,
				}
				if isPlace && place.Kind == derive.Feature {
					c.Feature = path.Base(dir)
				}
				pkg.Components = append(pkg.Components, c)
			}
		}
		packages = append(packages, pkg)
	}
	return packages
}

func (s snapshot) hasPackage(dir string) bool { return len(s.view.Files(dir)) > 0 }

// typeSpecs returns the declarations of exported structs and strings in a file.
func typeSpecs(file *typecheck.File) (found []*ast.TypeSpec) {
	for _, decl := range file.Syntax.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		for _, spec := range general.Specs {
			spec := spec.(*ast.TypeSpec)
			_, isStruct := spec.Type.(*ast.StructType)
			ident, isIdent := spec.Type.(*ast.Ident)
			if spec.Name.IsExported() && !spec.Assign.IsValid() && (isStruct || isIdent && ident.Name == "string") {
				found = append(found, spec)
			}
		}
	}
	return found
}

// hasOwnFile reports whether the file of a component of kind type is named after it, as generate
// type writes it. Lists have only these.
func hasOwnFile(c derive.Component) bool {
	name, err := gen.ParseName(gen.WireName(c.Func))
	return err == nil && path.Base(c.File) == name.File("type")
}

// isUnlisted reports whether a component is a type without a file of its own.
func isUnlisted(c derive.Component) bool { return c.Kind == derive.Type && !hasOwnFile(c) }

// holder is a stored command whose input contains the struct that changes, below a JSON path: it is
// empty or ends with a dot.
type holder struct {
	derive.Component
	path string
}

// holders returns the commands of the edited source whose input is the changed struct or contains
// it.
func (ch *changer) holders(packages []*derive.Package) (found []holder) {
	for _, home := range packages {
		pkg, _ := ch.pass.Package(home.Dir) // before the change
		for _, c := range home.Components {
			switch {
			case c.Kind != derive.Command || pkg == nil:
			case ch.c.Kind == derive.Command:
				if c.EventType == ch.c.EventType {
					found = append(found, holder{c, ""})
				}
			default:
				if object, _ := declared(pkg, c); object != nil {
					if at, ok := pathTo(object.Type(), ch.input, map[types.Type]bool{}); ok {
						found = append(found, holder{c, at})
					}
				}
			}
		}
	}
	return found
}

// pathTo returns the JSON path, with a dot at the end, at which a struct contains the fields of
// another. It is empty if that is the struct itself, or embedded in it.
func pathTo(t types.Type, other *types.Named, seen map[types.Type]bool) (string, bool) {
	named, ok := types.Unalias(valueType(t)).(*types.Named)
	if !ok || seen[named] {
		return "", false
	}
	seen[named] = true
	structure, ok := named.Underlying().(*types.Struct)
	if !ok || named.Obj().Pos() == other.Obj().Pos() {
		return "", ok
	}
	fields := derive.JSONFields(structure, false)
	for of := range other.Underlying().(*types.Struct).Fields() {
		if slices.ContainsFunc(fields, func(f derive.JSONField) bool { return f.Var.Origin().Pos() == of.Pos() }) {
			return "", true
		}
	}
	for _, f := range fields {
		if rest, ok := pathTo(derive.Innermost(f.Var.Type()), other, seen); ok {
			return f.Key + "." + rest, true
		}
	}
	return "", false
}

// below returns fields, or pairs of them such as OLD=NEW, with a JSON path before their names. The
// text after = is a value unless isName is set.
func (h holder) below(texts []string, isName bool) (all []string) {
	for _, text := range texts {
		field, value, isPair := strings.Cut(text, "=")
		if isName && strings.Contains(value, ".") {
			value = h.path + value
		}
		if field = h.path + field; isPair {
			field += "=" + value
		}
		all = append(all, field)
	}
	return all
}
