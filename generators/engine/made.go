package engine

import (
	"context"
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// Components of the project's own generators are files that match the generator's directive makes, so they
// are found in every clone, and also if they were written by hand.

// ownGenerators returns the package of the project's own generators. It is empty if there are none.
func (e *Engine) ownGenerators(ctx context.Context) (*derive.Package, error) {
	place, _ := derive.PlaceOf(derive.Generator)
	if len(e.before.Files(place.Dir)) == 0 {
		return &derive.Package{}, nil
	}
	packages, err := e.deriver.Packages(ctx, e.before, []derive.Place{place})
	if err != nil {
		return &derive.Package{}, err
	}
	return packages[0], nil
}

// madePackages returns the packages with components of own generators of a kind. An empty kind means all that
// are not in a folder of petrock's components.
func (e *Engine) madePackages(ctx context.Context, kind derive.Kind) ([]*derive.Package, error) {
	if slices.Contains(Kinds(), string(kind)) {
		return nil, nil
	}
	own, err := e.ownGenerators(ctx)
	if err != nil {
		return nil, err
	}
	var packages []*derive.Package
	for _, g := range own.Components {
		if kind != "" && g.Name != string(kind) || len(g.Makes) == 0 {
			continue
		}
		if place, ok := derive.PlaceAt(path.Dir(g.Makes[0])); ok { // petrock's kinds list these components
			if kind != "" {
				found, err := e.deriver.Packages(ctx, e.before, []derive.Place{place})
				if err != nil {
					return nil, err
				}
				packages = append(packages, found...)
			}
			continue
		}
		pkg := &derive.Package{Place: derive.Place{Dir: path.Dir(g.Makes[0]), Kind: derive.Kind(g.Name)}}
		files, err := fs.Glob(e.root.FS(), g.Makes[0])
		if err != nil {
			return nil, fmt.Errorf("find the components of generator %s: %w", g.Name, err)
		}
		for _, file := range files {
			if c, ok := e.madeComponent(g, file); ok {
				pkg.Components = append(pkg.Components, c)
			}
		}
		packages = append(packages, pkg)
	}
	return packages, nil
}

// isMadeBy reports whether a component has a kind: its own, or that of the own generator that created it in a
// folder of petrock's components. generators are the project's own.
func isMadeBy(c derive.Component, kind derive.Kind, generators []derive.Component) bool {
	return c.Kind == kind || slices.ContainsFunc(generators, func(g derive.Component) bool {
		if g.Kind != derive.Generator || g.Name != string(kind) || len(g.Makes) == 0 {
			return false
		}
		matches, _ := path.Match(g.Makes[0], c.File)
		return matches && !strings.HasSuffix(c.File, "_test.go")
	})
}

// madeComponent returns the component of a generator in a file. It reports false for tests, derived files
// and folders.
func (e *Engine) madeComponent(g derive.Component, file string) (derive.Component, bool) {
	info, err := e.root.Lstat(file)
	known := e.before.File(file)
	if err != nil || !info.Mode().IsRegular() || strings.HasSuffix(file, "_test.go") || known != nil && known.IsDerived() {
		return derive.Component{}, false
	}
	before, after, _ := strings.Cut(g.Makes[0], "*")
	name := strings.TrimSuffix(strings.TrimPrefix(file, before), after)
	if short, ok := strings.CutSuffix(name, "_"+g.Name); ok { // send_test is in send_test_macro.go
		if parsed, err := gen.ParseName(short); err == nil && parsed.File(g.Name) == path.Base(file) {
			name = short
		}
	}
	c := derive.Component{Kind: derive.Kind(g.Name), Name: name, File: file, Line: 1}
	if known != nil {
		e.describeMade(&c, known)
	}
	return c, true
}

// describeMade sets the Go name, line and description from the first exported declaration of a file.
func (e *Engine) describeMade(c *derive.Component, file *typecheck.File) {
	for _, decl := range file.Syntax.Decls {
		name := declarationName(decl)
		if !ast.IsExported(name) {
			continue
		}
		c.Func, c.Line = name, e.before.Fset().PositionFor(decl.Pos(), false).Line
		c.Description, _, _ = strings.Cut(docOf(decl).Text(), "\n")
		return
	}
}

// madeFiles returns the files of a component of an own generator, without its test.
func (e *Engine) madeFiles(ctx context.Context, c derive.Component) ([]string, error) {
	own, err := e.ownGenerators(ctx)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, g := range own.Components {
		if g.Name != string(c.Kind) {
			continue
		}
		for _, pattern := range g.Makes {
			file := strings.Replace(pattern, "*", c.Name, 1)
			if pattern == g.Makes[0] {
				file = c.File
			}
			if _, err := e.root.Lstat(file); err == nil && !slices.Contains(files, file) {
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
	own, err := e.ownGenerators(ctx)
	if err != nil {
		return err
	}
	for _, g := range own.Components {
		if g.Name != kind {
			kinds = append(kinds, g.Name)
		} else if len(g.Makes) > 0 {
			return nil
		} else {
			return terminal.Usagef("%s is not the kind of a component: what this generator adds to tools, resources, prompts and features has their kind, such as command; so that petrock finds its files in another folder, add //petrock:makes FOLDER/*.go to the doc comment of %s in %s", kind, g.Func, g.File)
		}
	}
	return terminal.Usagef("%q is not a kind of component; the kinds are %s", kind, strings.Join(kinds, ", "))
}

// noteUnlisted adds a notice to a draft of an own generator whose first file cannot be listed.
func (e *Engine) noteUnlisted(ctx context.Context, g gen.Generator, draft *gen.Draft) error {
	if slices.Contains(Kinds(), draft.Kind) {
		return nil
	}
	own, err := e.ownGenerators(ctx)
	at := slices.IndexFunc(own.Components, func(c derive.Component) bool { return c.Name == g.Name })
	if err != nil || at < 0 || len(draft.Files) == 0 {
		return err
	}
	file := draft.Files[0].Path
	if _, isPlace := derive.PlaceAt(path.Dir(file)); isPlace {
		return nil
	}
	for _, pattern := range own.Components[at].Makes {
		if matches, _ := path.Match(pattern, file); matches {
			return nil
		}
	}
	draft.Notices = append(draft.Notices, fmt.Sprintf("petrock will not find this %s again; add //petrock:makes %s/*%s to the doc comment of %s in %s", g.Name, path.Dir(file), path.Ext(file), own.Components[at].Func, own.Components[at].File))
	return nil
}

// correctable returns what the caller can correct in a plan: the input or the code of an own generator, else
// source.
func (e *Engine) correctable(ctx context.Context, p *plan, source string) string {
	if p.generator == "" {
		return source
	}
	own, err := e.ownGenerators(ctx)
	at := slices.IndexFunc(own.Components, func(c derive.Component) bool { return c.Name == p.generator })
	if err != nil || at < 0 {
		return source
	}
	return fmt.Sprintf("the input of %s or its template (%s)", p.generator, own.Components[at].File)
}

// noteOrphans adds a notice to the plan that destroys a generator whose components remain.
func (e *Engine) noteOrphans(ctx context.Context, p *plan) error {
	if p.kind != string(derive.Generator) {
		return nil
	}
	made, err := e.madePackages(ctx, derive.Kind(p.name))
	if err != nil || len(made) == 0 || len(made[0].Components) == 0 {
		return err
	}
	if _, isPlace := derive.PlaceAt(made[0].Dir); isPlace {
		return nil // petrock's kinds still list them
	}
	var files []string
	for _, c := range made[0].Components {
		files = append(files, c.File)
	}
	p.notices = append(p.notices, fmt.Sprintf("what the generator has created stays, and is no longer listed: %s", joinFew(files)))
	return nil
}

// checkSample refuses a draft whose sample, which is not written, does not compile in the project.
func (e *Engine) checkSample(ctx context.Context, draft gen.Draft) error {
	if len(draft.Sample) == 0 {
		return nil
	}
	p := newPlan(actionGenerate)
	if err := e.planDraft(ctx, p, gen.Draft{Files: draft.Sample}); err != nil {
		return err
	}
	verdict, err := e.checker.Verify(ctx, e.before, e.before.With(p.texts))
	if err != nil || len(verdict.New) == 0 {
		return err
	}
	p.explainMissing(verdict.New)
	return &Refusal{
		Reason:      fmt.Sprintf("a component of generator %s would not compile:", draft.Name),
		Diagnostics: withLines(verdict.New, p.texts),
		Remedy:      "Nothing was changed. Correct the template and retry.",
	}
}
