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

// A Seeker seeks packages for one project. It keeps what it has read of those outside the project
// for as long as that holds. It is for one user at a time.
type Seeker struct {
	root     *os.Root
	module   string
	cache    *typecheck.ExportCache
	system   typecheck.System
	standard *standard // for system; nil before the first question
	modules  *modules  // nil before they were needed
	without  []string  // folders of the project that are passed over
}

// NewSeeker is a seeker for the project in root, whose packages are those of module, but for those in some
// folders and below them.
func NewSeeker(root *os.Root, module string, cache *typecheck.ExportCache, without ...string) *Seeker {
	return &Seeker{root: root, module: module, cache: cache, without: without}
}

// Missing is a name for which no package fits.
type Missing struct {
	Name   string
	Wanted []string // what the file uses of it, sorted
	Why    string   // one sentence, with the way out
}

// Add returns a file with the imports that it lacks. The file has this path and text, and stands or
// will stand among those of the view; all but its imports stays as it is. Names for which nothing
// fits are returned as missing, sorted: the compiler will speak of them. A file that does not parse
// is returned as it is.
func (s *Seeker) Add(ctx context.Context, view *typecheck.View, file string, text []byte) (out []byte, missing []Missing, err error) {
	syntax, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments)
	if err != nil {
		return text, nil, nil // for the compiler to speak of
	}
	wanted := references(syntax)
	if len(wanted) == 0 {
		return text, nil, nil
	}
	if err := s.refresh(ctx); err != nil {
		return nil, nil, err
	}
	p := s.place(view, file, syntax)
	if err := s.strike(ctx, p, syntax, wanted); err != nil {
		return nil, nil, err
	}
	var found []Import
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		best, near, err := s.seek(ctx, p, want{name, wanted[name]})
		switch {
		case err != nil:
			return nil, nil, err
		case best == nil:
			missing = append(missing, Missing{Name: name, Wanted: wanted[name], Why: s.why(want{name, wanted[name]}, near)})
		case !imported(syntax, best.path):
			found = append(found, best.importAs(name))
		}
	}
	return s.insert(p, text, found), missing, nil
}

// refresh drops what is known of packages outside the project if it no longer holds.
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
		s.modules = nil // they are folders that change at any time
	}
	return nil
}

// seek finds the package that is called and has what is wanted. If there is none, it returns those
// that come near.
func (s *Seeker) seek(ctx context.Context, p *place, w want) (found *candidate, near []candidate, err error) {
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
