package typecheck

import (
	"context"
	"fmt"
	"go/types"
	"reflect"
	"runtime"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/atomic"
	"golang.org/x/tools/go/analysis/passes/bools"
	"golang.org/x/tools/go/analysis/passes/buildtag"
	"golang.org/x/tools/go/analysis/passes/directive"
	"golang.org/x/tools/go/analysis/passes/errorsas"
	"golang.org/x/tools/go/analysis/passes/ifaceassert"
	"golang.org/x/tools/go/analysis/passes/nilfunc"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/passes/stringintconv"
	"golang.org/x/tools/go/analysis/passes/tests"
)

// VetMark starts the message of a finding of go vet. Compile errors do not have it.
const VetMark = "vet: "

// Vet runs the checks of go vet that go test runs, on the packages in folders with their tests. It skips
// packages that do not compile, and returns their folders. Calls of wrappers of fmt.Printf in other packages
// are not checked.
func (c *Checker) Vet(ctx context.Context, view *View, dirs []string) (found []Diagnostic, skipped []string, err error) {
	pass, err := c.NewPass(ctx, view, dirs, PassOptions{})
	if err != nil {
		return nil, nil, err
	}
	analyzers := []*analysis.Analyzer{
		atomic.Analyzer, bools.Analyzer, buildtag.Analyzer, directive.Analyzer, errorsas.Analyzer,
		ifaceassert.Analyzer, nilfunc.Analyzer, printf.Analyzer, stringintconv.Analyzer, tests.Analyzer,
	}
	for _, dir := range dirs {
		for _, pkg := range pass.InspectTests(dir) {
			if pkg.err != nil {
				skipped = append(skipped, dir)
				continue
			}
			v := &vetting{checker: c, pkg: pkg, results: map[*analysis.Analyzer]any{}, facts: map[factKey]analysis.Fact{}}
			for _, analyzer := range analyzers {
				if _, err := v.run(analyzer); err != nil {
					return nil, nil, fmt.Errorf("vet %s: %s: %w", dir, analyzer.Name, err)
				}
			}
			found = append(found, v.found...)
		}
	}
	slices.SortFunc(found, Diagnostic.Compare)
	return slices.Compact(found), skipped, pass.Err()
}

// A vetting runs analyzers on one package.
type vetting struct {
	checker *Checker
	pkg     *InspectedPackage
	results map[*analysis.Analyzer]any
	facts   map[factKey]analysis.Fact
	found   []Diagnostic
}

type factKey struct {
	object types.Object
	kind   reflect.Type
}

// run runs an analyzer after those that it requires, once.
func (v *vetting) run(a *analysis.Analyzer) (any, error) {
	if result, known := v.results[a]; known {
		return result, nil
	}
	results := map[*analysis.Analyzer]any{}
	for _, required := range a.Requires {
		result, err := v.run(required)
		if err != nil {
			return nil, err
		}
		results[required] = result
	}
	result, err := a.Run(&analysis.Pass{
		Analyzer: a, Fset: v.checker.fset, Files: v.pkg.syntax, Pkg: v.pkg.types, TypesInfo: v.pkg.Info,
		TypesSizes: types.SizesFor("gc", runtime.GOARCH), ResultOf: results,
		Report: func(d analysis.Diagnostic) {
			v.found = append(v.found, diagnosticAt(v.checker.fset, d.Pos, "", VetMark+d.Message))
		},
		ImportObjectFact: v.importFact,
		ExportObjectFact: func(object types.Object, fact analysis.Fact) { v.facts[factKey{object, reflect.TypeOf(fact)}] = fact },
	})
	v.results[a] = result
	return result, err
}

func (v *vetting) importFact(object types.Object, fact analysis.Fact) bool {
	known, ok := v.facts[factKey{object, reflect.TypeOf(fact)}]
	if ok {
		reflect.ValueOf(fact).Elem().Set(reflect.ValueOf(known).Elem())
	}
	return ok
}
