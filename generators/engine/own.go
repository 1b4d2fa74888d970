package engine

import (
	"context"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// OwnGenerators returns the generators that the project has added to petrock's, as far as their
// source tells: they have no Make. If nothing can be derived from their package, the diagnostics
// say why.
func (e *Engine) OwnGenerators(ctx context.Context) ([]gen.Generator, []typecheck.Diagnostic, error) {
	if err := e.look(ctx); err != nil {
		return nil, nil, err
	}
	place, _ := derive.PlaceOf(derive.Generator)
	if len(e.before.Files(place.Dir)) == 0 {
		return nil, nil, nil
	}
	packages, err := e.deriver.Packages(ctx, e.before, []derive.Place{place})
	if err != nil {
		return nil, nil, err
	}
	var all []gen.Generator
	for _, c := range packages[0].Components {
		all = append(all, gen.Generator{Name: c.Name, Description: c.Description, InputSchema: c.Input})
	}
	return all, packages[0].Problems, nil
}

// CompareSum compares petrock's folders with petrock.sum.
func (e *Engine) CompareSum() (Drift, error) {
	sum, err := ReadSum(e.root.FS())
	if err != nil {
		return Drift{}, err
	}
	return sum.Compare(e.root.FS(), PetrockFolders()...), nil
}
