package engine

import (
	"go/ast"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// Types are components of kind type: exported structs and strings that are neither commands,
// queries and workers nor the state of a feature. They need no mark, so hand-written ones are found
// too, in every clone.

// componentMethod matches a method of a command, query or worker.
var componentMethod = regexp.MustCompile(`(?m)^func \((?:\w+ )?\*?(\w+)\) (?:Apply|Answer|Every|On[A-Z]\w*)\(`)

// typePackages returns the packages with types, except those of petrock and of programs.
func (s snapshot) typePackages() (packages []*derive.Package) {
	for _, dir := range s.view.Dirs() {
		place, isPlace := derive.PlaceAt(dir)
		if isPetrockPath(dir) || dir == derive.OwnGenerators {
			continue
		}
		pkg := &derive.Package{Place: derive.Place{Dir: dir, Kind: derive.Type}}
		var reserved []string
		for _, file := range s.view.Files(dir) {
			for _, method := range componentMethod.FindAllSubmatch(file.Text, -1) {
				reserved = append(reserved, string(method[1]))
			}
		}
		for _, file := range s.view.Files(dir) {
			for spec := range nodesOf[*ast.TypeSpec](file.Syntax) {
				_, isStruct := spec.Type.(*ast.StructType)
				name := spec.Name.Name
				switch {
				case file.IsTest() || file.IsDerived() || file.Syntax.Name.Name == "main" || !slices.Contains(file.Names(), name):
				case !ast.IsExported(name) || spec.Assign.IsValid() || !isStruct && types.ExprString(spec.Type) != "string":
				case isPlace && (slices.Contains(reserved, name) || place.IsReserved(name)):
				default:
					doc, _ := docAt(file, spec.Name.Pos())
					about, _, _ := strings.Cut(doc.Text(), "\n")
					pkg.Components = append(pkg.Components, derive.Component{
						Kind: derive.Type, Name: derive.TypeName(dir, name), Func: name, Description: about,
						File: file.Path, Line: s.view.Fset().PositionFor(spec.Pos(), false).Line,
					})
				}
			}
		}
		packages = append(packages, pkg)
	}
	return packages
}

// isUnlisted reports whether a component is a type in a file that is not named after it. Generate
// type names files after their types.
func isUnlisted(c derive.Component) bool {
	name, err := gen.ParseName(gen.WireName(c.Func))
	return c.Kind == derive.Type && (err != nil || path.Base(c.File) != name.File("type"))
}

// pathIn returns the JSON path of the edited struct in a command, from the changes to the fields of
// the command: it is empty or ends with a dot.
func (edit *fieldEdit) pathIn(changes []contract.Change) string {
	names := slices.Clone(edit.remove)
	for old, name := range edit.rename {
		names = append(names, old, name)
	}
	for _, f := range edit.set {
		names = append(names, f.in+f.Name)
	}
	for _, change := range changes {
		for _, name := range names {
			if before, ok := strings.CutSuffix("."+change.Path, "."+name); ok && before != "" {
				return before[1:] + "."
			}
		}
	}
	return ""
}

// below returns fields below a JSON path. In pairs OLD=NEW, a nested NEW gets it too.
func below(path string, texts []string, isRename bool) (all []string) {
	for _, text := range texts {
		if old, name, _ := strings.Cut(text, "="); isRename && strings.Contains(name, ".") {
			text = old + "=" + path + name
		}
		all = append(all, path+text)
	}
	return all
}
