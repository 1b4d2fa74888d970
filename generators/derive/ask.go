package derive

import (
	"encoding/json"
	"errors"
	"go/types"
	"path"

	"github.com/petrock/petrock/generators/typecheck"
)

// Schema is the JSON Schema that a type of a view would have in a place, as what a component takes
// or, for an output, gives back. It is nil for a result that decides for itself. The error
// says why there is none, where that is, and the way out.
func (p Project) Schema(view *typecheck.View, place Place, t types.Type, output bool) (json.RawMessage, error) {
	f := p.finder(view, place)
	f.pkg = types.NewPackage(p.Checker.ImportPath(place.Dir), path.Base(place.Dir))
	if output && f.isOneOf(t, "ToolResult", "*ToolResult") {
		return nil, nil
	}
	s := &schemer{finder: f, output: output}
	text, ok := s.root(t)
	if !ok {
		wrong := f.found.Problems[0]
		wrong.Package = "" // it is not that which is wrong
		return nil, errors.New(wrong.String())
	}
	return json.RawMessage(text), nil
}
