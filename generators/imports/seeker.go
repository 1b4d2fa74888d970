package imports

import (
	"context"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"

	"github.com/petrock/petrock/generators/typecheck"
)

// A Seeker finds packages for files of one project. It caches what it has read of packages outside the
// project. It is not safe for concurrent use.
type Seeker struct {
	root     *os.Root
	module   string
	cache    *typecheck.ExportCache
	system   typecheck.System
	standard *standard // of system; nil before the first call
	modules  *modules  // nil before they are needed
	excluded []string  // folders of the project to leave out
}

// NewSeeker returns a seeker for the project of a module in root. It leaves out packages in the
// excluded folders and below them.
func NewSeeker(root *os.Root, module string, cache *typecheck.ExportCache, without ...string) *Seeker {
	return &Seeker{root: root, module: module, cache: cache, excluded: without}
}

// Missing is a name for which no package was found.
type Missing struct {
	Name   string
	Wanted []string // the selectors that the file uses, sorted
	Why    string   // the reason and the remedy, in one sentence
}

// Add returns a file of the view, or to be added to it, with the imports that it lacks. Names without a
// package are returned as missing, sorted. A file that does not parse is returned as it is.
func (s *Seeker) Add(ctx context.Context, view *typecheck.View, file string, text []byte) (out []byte, missing []Missing, err error) {
	syntax, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments)
	if err != nil {
		return text, nil, nil // verifying reports the syntax error
	}
	wanted := references(syntax)
	if len(wanted) == 0 {
		return text, nil, nil
	}
	if err := s.refresh(ctx); err != nil {
		return nil, nil, err
	}
	p := s.place(view, file, syntax)
	if err := s.removeDeclared(ctx, p, syntax, wanted); err != nil {
		return nil, nil, err
	}
	var found []Import
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		best, near, err := s.findPackage(ctx, p, want{name, wanted[name]})
		switch {
		case err != nil:
			return nil, nil, err
		case best == nil:
			missing = append(missing, Missing{Name: name, Wanted: wanted[name], Why: s.explainMissing(want{name, wanted[name]}, near)})
		case !imported(syntax, best.path):
			found = append(found, best.importAs(name))
		}
	}
	return s.insert(p, text, found), missing, nil
}

// refresh drops cached packages if the target system has changed.
func (s *Seeker) refresh(ctx context.Context) error {
	system, err := s.cache.System(ctx)
	if err != nil {
		return err
	}
	if s.standard == nil || !s.system.Equal(system) {
		listed, err := listStandard(system)
		if err != nil {
			return err
		}
		s.system, s.standard, s.modules = system, listed, nil
	}
	if system.Local {
		s.modules = nil // local modules may change at any time
	}
	return nil
}

// findPackage finds the package with the wanted name and selectors. If there is none, it returns
// packages with the name that lack selectors or cannot be imported.
func (s *Seeker) findPackage(ctx context.Context, p *place, w want) (found *candidate, near []candidate, err error) {
	for _, level := range []func(context.Context, *place, want) ([]candidate, error){
		s.ofSiblings, s.ofTested, s.ofStandard, s.ofProject, s.ofModules,
	} {
		candidates, err := level(ctx, p, w)
		if err != nil {
			return nil, nil, err
		}
		slices.SortFunc(candidates, func(a, b candidate) int { return a.compare(b, w.name) })
		for _, c := range candidates {
			if c.fault == "" {
				return &c, nil, nil
			}
			if !slices.ContainsFunc(near, func(n candidate) bool { return n.path == c.path }) {
				near = append(near, c)
			}
		}
	}
	return nil, near, nil
}
