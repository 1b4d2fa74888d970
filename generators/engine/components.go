package engine

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/types"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// Kinds returns petrock's kinds of components. Own generators add others.
func Kinds() []string {
	return []string{"command", "feature", "generator", "prompt", "query", "resource", "tool", "type", "worker"}
}

// NeedsFeatures reports whether a generator is for projects with features.
func NeedsFeatures(kind string) bool {
	return slices.Contains([]string{"command", "feature", "query", "version", "worker"}, kind)
}

// lookUp finds a component by its client name or Go name, and its package. An empty kind means any.
func (s snapshot) lookUp(ctx context.Context, kind derive.Kind, name string) (c derive.Component, home *derive.Package, err error) {
	places := slices.DeleteFunc(s.existingPlaces(), func(place derive.Place) bool {
		return kind != "" && !slices.Contains(place.Kinds(), kind)
	})
	packages, err := s.engine.deriver.Packages(ctx, s.view, places)
	if err != nil {
		return c, nil, err
	}
	made, err := s.madePackages(ctx)
	if err != nil {
		return c, nil, err
	}
	var found []derive.Component
	var names, words []string
	var broken *derive.Package
	for _, pkg := range slices.Concat(packages, made, s.typePackages()) {
		if len(pkg.Problems) > 0 && kind != "" {
			broken = pkg
			continue
		}
		for _, c := range pkg.Components {
			if kind != "" && c.Kind != kind {
				continue
			}
			if !isUnlisted(c) {
				names = append(names, strings.TrimPrefix(string(c.Kind)+" "+c.Name, string(kind)+" "))
			}
			words = append(words, c.Name)
			if c.Matches(name) {
				found, home = append(found, c), pkg
			}
		}
	}
	switch {
	case len(found) == 0 && broken != nil:
		return c, nil, deriveRefusal(broken, s.view)
	case len(found) == 0:
		return c, nil, terminal.Usagef("%s %q does not exist; %s", cmp.Or(string(kind), "component"), name, terminal.DidYouMean(name, words, "the project has "+joinOrNone(names)))
	case len(found) == 1:
		return found[0], home, nil
	case found[0].Kind == found[1].Kind:
		return c, nil, terminal.Usagef("%q is ambiguous: %s or %s", name, found[0].Name, found[1].Name)
	}
	return c, nil, terminal.Usagef("%q is the name of a %s and of a %s; pass the kind", name, found[0].Kind, found[1].Kind)
}

// Components of the project's own generators are files that match the generator's directive makes,
// so they are found in every clone, even if they were written by hand.

// OwnGenerators returns the project's own generators, without Make, which is known only to the
// compiled program. The diagnostics are the errors of their package.
func (e *Engine) OwnGenerators(ctx context.Context) ([]gen.Generator, []typecheck.Diagnostic, error) {
	if err := e.read(ctx, false); err != nil {
		return nil, nil, err
	}
	own, err := e.onDisk().ownGenerators(ctx)
	var all []gen.Generator
	for _, c := range own.Components {
		all = append(all, gen.Generator{Name: c.Name, Description: c.Description, InputSchema: c.Input})
	}
	return all, own.Problems, err
}

// ownGenerators returns the package of the project's own generators. It is empty if there are none.
func (s snapshot) ownGenerators(ctx context.Context) (*derive.Package, error) {
	place, _ := derive.PlaceOf(derive.Generator)
	if len(s.view.Files(place.Dir)) == 0 {
		return &derive.Package{}, nil
	}
	packages, err := s.engine.deriver.Packages(ctx, s.view, []derive.Place{place})
	if err != nil {
		return &derive.Package{}, err
	}
	return packages[0], nil
}

// madePackages returns the packages with components of own generators. Those in petrock's folders
// are not among them: they have petrock's kinds.
func (s snapshot) madePackages(ctx context.Context) ([]*derive.Package, error) {
	own, err := s.ownGenerators(ctx)
	if err != nil {
		return nil, err
	}
	var packages []*derive.Package
	for _, g := range own.Components {
		if len(g.Makes) == 0 {
			continue
		}
		if _, isPlace := derive.PlaceAt(path.Dir(g.Makes[0])); isPlace {
			continue
		}
		pkg := &derive.Package{Place: derive.Place{Dir: path.Dir(g.Makes[0]), Kind: derive.Kind(g.Name)}}
		files, err := fs.Glob(s.engine.root.FS(), g.Makes[0])
		if err != nil {
			return nil, fmt.Errorf("find the components of generator %s: %w", g.Name, err)
		}
		for _, file := range files {
			if c, ok := s.madeComponent(g, file); ok {
				pkg.Components = append(pkg.Components, c)
			}
		}
		packages = append(packages, pkg)
	}
	return packages, nil
}

// madeComponent returns the component of a generator in a file, with the Go name, line and
// description of its first exported declaration. It reports false for tests, derived files and
// folders.
func (s snapshot) madeComponent(g derive.Component, file string) (derive.Component, bool) {
	info, err := s.engine.root.Lstat(file)
	known := s.view.File(file)
	if err != nil || !info.Mode().IsRegular() || strings.HasSuffix(file, "_test.go") || known != nil && known.IsDerived() {
		return derive.Component{}, false
	}
	before, after, _ := strings.Cut(g.Makes[0], "*")
	name := strings.TrimSuffix(strings.TrimPrefix(file, before), after)
	c := derive.Component{Kind: derive.Kind(g.Name), Name: name, File: file, Line: 1}
	if known == nil {
		return c, true
	}
	for _, decl := range known.Syntax.Decls {
		if name := declarationName(decl); ast.IsExported(name) {
			c.Func, c.Line = name, s.view.Fset().PositionFor(decl.Pos(), false).Line
			c.Description, _, _ = strings.Cut(docOf(decl).Text(), "\n")
			break
		}
	}
	return c, true
}

// madeFiles returns the files of a component of an own generator, without its test.
func (e *Engine) madeFiles(ctx context.Context, c derive.Component) ([]string, error) {
	own, err := e.onDisk().ownGenerators(ctx)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, g := range own.Components {
		for _, pattern := range g.Makes {
			file := strings.Replace(pattern, "*", c.Name, 1)
			_, err := e.root.Lstat(file)
			if err == nil && g.Name == string(c.Kind) && !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// checkKind returns an error if a kind of component does not exist.
func (e *Engine) checkKind(ctx context.Context, kind string) error {
	kinds := Kinds()
	if kind == "" || slices.Contains(kinds, kind) {
		return nil
	}
	made, err := e.onDisk().madePackages(ctx)
	if err != nil {
		return err
	}
	for _, pkg := range made {
		kinds = append(kinds, string(pkg.Kind))
	}
	if !slices.Contains(kinds, kind) {
		return unknownKind(kind, kinds)
	}
	return nil
}

func unknownKind(kind string, kinds []string) error {
	return terminal.Usagef("%q is not a kind of component; %s", kind, terminal.DidYouMean(kind, kinds, "the kinds are "+strings.Join(kinds, ", ")))
}

func (s snapshot) existingPlaces() []derive.Place {
	return slices.DeleteFunc(derive.Places(s.view), func(place derive.Place) bool { return len(s.view.Files(place.Dir)) == 0 })
}

// unreadPackages returns the packages that exist but are not read: symbolic links and nested
// modules. If they were treated as missing, their components would be unregistered.
func (e *Engine) unreadPackages() (found []*derive.Package) {
	places := slices.DeleteFunc(derive.Places(e.before), func(place derive.Place) bool { return !place.Wired || place.Kind == derive.Feature })
	if e.whyUnread(derive.Features) != "" {
		places = append(places, derive.FeaturePlace(derive.Features))
	} else if entries, err := fs.ReadDir(e.root.FS(), derive.Features); err == nil {
		for _, entry := range entries {
			places = append(places, derive.FeaturePlace(path.Join(derive.Features, entry.Name())))
		}
	}
	for _, place := range places {
		if reason := e.whyUnread(place.Dir); reason != "" {
			found = append(found, &derive.Package{Place: place, Problems: []typecheck.Diagnostic{{Message: reason}}})
		}
	}
	return found
}

// whyUnread returns why a folder is not read, or "" if it is.
func (e *Engine) whyUnread(dir string) string {
	if info, err := e.root.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Sprintf("%s is a symbolic link, which petrock does not follow; replace it with a folder", dir)
	}
	if mod := e.otherModule(path.Join(dir, "x")); mod != "" {
		return fmt.Sprintf("%s is in another module (%s); make it part of this module", dir, mod)
	}
	return ""
}

// otherModule returns the go.mod of the nested module that contains a file, or an empty string.
func (e *Engine) otherModule(file string) string {
	for dir := path.Dir(file); dir != "." && dir != "/"; dir = path.Dir(dir) {
		mod := path.Join(dir, "go.mod")
		if _, err := e.root.Lstat(mod); err == nil {
			return mod
		}
	}
	return ""
}

func testPath(file string) string { return strings.TrimSuffix(file, ".go") + "_test.go" }

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
