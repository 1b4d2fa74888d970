package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Listing is the components and parts of a project.
type Listing struct {
	OK         bool                   `json:"ok"`                // Whether all packages could be read
	Name       string                 `json:"name"`              // Name of the project
	Root       string                 `json:"root"`              // Folder of the project
	Components []derive.Component     `json:"components"`        // Sorted by kind and name
	Parts      []PartStatus           `json:"parts,omitempty"`   // Optional code of petrock
	Refused    []typecheck.Diagnostic `json:"refused,omitempty"` // Errors in packages that could not be read
	ToolsList  *Size                  `json:"toolsList"`         // Size of tools/list
	Total      int                    `json:"total,omitempty"`   // Of a page: number of all components
	Offset     int                    `json:"offset,omitempty"`  // Of a page: number of components before it
}

// List lists the components of the project, its own generators included. It changes nothing.
func (e *Engine) List(ctx context.Context) (*Listing, error) {
	if err := e.read(ctx); err != nil {
		return nil, err
	}
	packages, err := e.deriver.Packages(ctx, e.before, e.existingPlaces())
	if err != nil {
		return nil, err
	}
	listing := &Listing{OK: true, Name: e.project.Name, Root: e.project.Root, Components: []derive.Component{}, Refused: []typecheck.Diagnostic{}}
	for _, part := range parts.All() {
		listing.Parts = append(listing.Parts, PartStatus{Name: part.Name, Description: part.Description, Present: isPresent(part, e.before), UsedBy: e.partUser(part, e.before)})
	}
	derive.CheckNames(packages, nil)
	made, err := e.madePackages(ctx)
	if err != nil {
		return nil, err
	}
	for _, pkg := range slices.Concat(packages, e.unreadPackages(), made) {
		listing.Refused = append(listing.Refused, pkg.Problems...)
		if len(pkg.Problems) == 0 {
			listing.Components = append(listing.Components, pkg.Components...)
		}
	}
	slices.SortStableFunc(listing.Components, func(a, b derive.Component) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	listing.Refused = append(listing.Refused, e.interrupted()...)
	listing.OK = len(listing.Refused) == 0
	listing.ToolsList = newSize(listing.Components)
	return listing, nil
}

// Page returns the listing with the components of a kind, or of all kinds, from an offset.
func (l *Listing) Page(kind string, offset, limit int) *Listing {
	s := *l
	s.Components = slices.Clone(l.Components)
	if kind != "" {
		s.Components = slices.DeleteFunc(s.Components, func(c derive.Component) bool { return string(c.Kind) != kind })
	}
	s.Total, s.Offset = len(s.Components), offset
	s.Components = page(s.Components, offset, limit)
	return &s
}

// Short returns the short form of the listing: kinds, names, files and the first lines of
// descriptions.
func (l *Listing) Short(most int) any {
	c := &Cutter{Most: most}
	s := *l
	s.Parts, s.Components = nil, nil
	for _, part := range Cut(c, l.Components, "component") {
		about, _, _ := strings.Cut(part.Description, "\n")
		s.Components = append(s.Components, derive.Component{Kind: part.Kind, Name: part.Name, Description: about, File: part.File, Line: part.Line, URI: part.URI})
	}
	s.Refused = c.Diagnostics(l.Refused, "error")
	return &s
}

// String lists the components, one a line.
func (l *Listing) String() string {
	var out strings.Builder
	for _, c := range l.Components {
		name := c.Name
		if c.URI != "" {
			name += " (" + c.URI + ")"
		}
		fmt.Fprintf(&out, "%s %s, %s:%d: %s\n", c.Kind, name, c.File, c.Line, c.Description)
	}
	writePage(&out, len(l.Components), l.Offset, l.Total, "component")
	writeLines(&out, "error: ", l.Refused)
	if l.ToolsList != nil {
		fmt.Fprintln(&out, l.ToolsList)
	}
	return out.String()
}
