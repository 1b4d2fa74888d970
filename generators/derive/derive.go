// Package derive derives code from plain Go: the registration of tools, resources, prompts and
// features, the JSON Schemas of their inputs and outputs, and the wiring of the server. The pages
// in generators/docs document the Go code and directives that it reads.
//
// A schema describes what encoding/json reads and writes. It equals the schema that [schema.Infer]
// infers by reflection, plus facts from source: comments are descriptions, and a type with
// constants is an enum. The methods JSONSchema and SchemaEnum do not run during derivation, so a
// type that has one needs the directive schema, or constants.
//
// Derived files are named *_gen.go and start with a generated-code line. They depend on the other
// files of their package, except tests and function bodies. Of these, only the calls of mcp.AskFor
// count, whose forms are derived. The same source gives the same bytes.
// An exported function that is almost a component is an error, so that no component is missing
// silently.
package derive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/typecheck"
)

// Packages derives from the packages in places. It returns one Package per place, empty if the
// folder does not exist. It does not read derived files of these places.
func (p Project) Packages(ctx context.Context, view *typecheck.View, places []Place) ([]*Package, error) {
	var dirs []string
	for _, place := range places {
		dirs = append(dirs, place.Dir)
	}
	pass, err := p.Checker.NewPass(ctx, view, dirs, typecheck.PassOptions{Skip: func(f *typecheck.File) bool {
		return f.IsTest() || f.IsDerived() && (slices.Contains(dirs, f.Dir()) || path.Dir(f.Dir()) == Features)
	}})
	if err != nil {
		return nil, err
	}
	var all []*Package
	for _, place := range places {
		f := p.newFinder(view, place)
		f.find(pass)
		all = append(all, f.found)
	}
	return all, pass.Err()
}

func (p Project) newFinder(view *typecheck.View, place Place) *finder {
	f := &finder{Project: p, place: place, view: view, fset: view.Fset(), scoped: map[token.Pos]bool{}}
	f.found = &Package{Place: place, File: place.derivedFile()}
	return f
}

func (f *finder) find(pass *typecheck.Pass) {
	var files []*typecheck.File
	if file := f.view.File(f.found.File); file != nil && !file.IsDerived() {
		f.addProblem(typecheck.Diagnostic{File: file.Path, Message: fmt.Sprintf(
			"the name ends in _gen.go but the file has no line %q, so it is not a derived file; rename it, or remove it if petrock derived it", typecheck.DerivedMark+" …")})
		return
	}
	for _, file := range f.view.Files(f.place.Dir) {
		if file.IsTest() || file.IsDerived() {
			continue
		}
		files = append(files, file)
		var list scanner.ErrorList
		if errors.As(file.Err, &list) {
			f.addProblem(typecheck.Diagnostic{File: file.Path, Line: list[0].Pos.Line, Column: list[0].Pos.Column, Message: "syntax error: " + list[0].Msg})
		}
	}
	pkg, wrong := pass.Package(f.place.Dir)
	if pkg == nil || len(f.found.Problems) > 0 {
		return
	}
	f.pkg = pkg
	f.findComponents(files)
	f.linkCompleters()
	f.checkClashes()
	f.requireConstructor()
	if len(f.found.Problems) > 0 {
		for _, d := range wrong { // may be the cause of the problems
			if !strings.HasPrefix(d.Message, "\t") {
				f.found.Problems = append(f.found.Problems, d)
			}
		}
		return
	}
	if len(f.found.Components) > 0 {
		var err error
		if f.found.Text, err = f.render(); err != nil {
			f.addProblem(typecheck.Diagnostic{File: f.found.File, Message: err.Error()})
		}
	}
}

func (f *finder) findComponents(files []*typecheck.File) {
	for _, file := range files {
		if file.Syntax.Name.Name != f.pkg.Name() {
			continue // a program in the same folder, which a build constraint excludes
		}
		problems := len(f.found.Problems)
		for _, decl := range file.Syntax.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if f.place.Kind == Feature {
					f.visitMapper(file, decl)
				} else {
					f.visitFunc(file, decl)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok && f.place.Kind == Feature {
						f.visitType(file, spec)
					}
				}
			}
		}
		hasProblems := len(f.found.Problems) > problems
		f.checkIgnored(file, hasProblems)
		if !hasProblems {
			f.findForms(file)
		}
	}
	if f.place.Kind == Feature {
		f.checkFeature()
	}
}

// CheckNames adds a problem to each package that has a tool with the name of a tool in others or in
// an earlier package, or that maps events of a command, or of a type that another package maps. It
// ignores packages with problems.
func CheckNames(packages, others []*Package) {
	checkMappedTypes(packages, others)
	known := map[string]Component{}
	for i, pkg := range slices.Concat(others, packages) {
		for _, c := range pkg.tools() {
			if other, taken := known[c.Name]; taken && i >= len(others) {
				pkg.Problems = append(pkg.Problems, typecheck.Diagnostic{File: c.File, Line: c.Line, Message: fmt.Sprintf(
					"%s has the name %s, which %s in %s already has; change one of them with //petrock:name",
					c.Func, c.Name, other.Func, other.File)})
			}
			known[c.Name] = c
		}
	}
}

// Schema returns the JSON Schema of a type as the input or output of a component in a place. It
// returns nil for a type that is a complete tool result. The error has a position, but no remedy.
func (p Project) Schema(view *typecheck.View, place Place, t types.Type, output bool) (json.RawMessage, error) {
	f := p.newFinder(view, place)
	f.pkg = types.NewPackage(p.Checker.ImportPath(place.Dir), path.Base(place.Dir))
	if output && f.isOneOf(t, "mcp.ToolResult", "*mcp.ToolResult") {
		return nil, nil
	}
	s := &schemaBuilder{finder: f, output: output}
	text, ok := s.build(t)
	if !ok {
		wrong := f.found.Problems[0]
		wrong.Package = "" // the error may be in another package
		if s.wrong != nil {
			wrong.Message = s.wrong.Reason()
		}
		return nil, errors.New(wrong.String())
	}
	return json.RawMessage(text), nil
}
