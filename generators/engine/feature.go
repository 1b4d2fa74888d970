package engine

import (
	"context"
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strconv"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// feature is what generators are told of a feature, nil if there is none of that name.
func (e *Engine) feature(ctx context.Context, name string) *gen.Feature {
	place := derive.FeatureIn(path.Join(derive.Features, name))
	if name == "" || !slices.Contains(derive.Places(e.before), place) {
		return nil
	}
	feature := &gen.Feature{Name: name, Dir: place.Dir}
	for _, file := range e.before.Files(place.Dir) {
		if !file.IsTest() && !file.IsDerived() {
			feature.Declared = append(feature.Declared, file.Names()...)
			feature.Strings = append(feature.Strings, stringTypes(file.Syntax)...)
		}
	}
	slices.Sort(feature.Declared)
	packages, err := e.deriver.Packages(ctx, e.before, []derive.Place{place})
	if err != nil || len(packages[0].Problems) > 0 {
		return feature // what is wrong is said when something is derived
	}
	for _, c := range packages[0].Components {
		part := gen.FeatureTool{Type: c.Func, Name: c.Name, Entry: c.Entry, Fields: e.fields(c)}
		switch c.Kind {
		case derive.Command:
			feature.Commands = append(feature.Commands, part)
		case derive.Query:
			feature.Queries = append(feature.Queries, part)
		}
	}
	return feature
}

// stringTypes are the types that a file declares as strings: type Status string.
func stringTypes(file *ast.File) []string {
	var names []string
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok && spec.TypeParams == nil && types.ExprString(spec.Type) == "string" {
				names = append(names, spec.Name.Name)
			}
		}
	}
	return names
}

// fields are those of the type that a component is.
func (e *Engine) fields(c derive.Component) []gen.StructField {
	var fields []gen.StructField
	ast.Inspect(e.before.File(c.File).Syntax, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != c.Func {
			_, inside := n.(*ast.BlockStmt)
			return !inside
		}
		list, ok := spec.Type.(*ast.StructType)
		if !ok {
			return false
		}
		for _, field := range list.Fields.List {
			made := gen.StructField{Type: types.ExprString(field.Type)}
			if field.Tag != nil {
				made.Tag, _ = strconv.Unquote(field.Tag.Value)
			}
			if len(field.Names) == 0 {
				fields = append(fields, made)
			}
			for _, name := range field.Names {
				made.Name = name.Name
				fields = append(fields, made)
			}
		}
		return false
	})
	return fields
}
