package generators

import (
	"go/types"

	"github.com/petrock/petrock/generators/gen"
)

// given is what a function gives a tool back.
type given struct {
	whole   types.Type // what is the output itself; nil if there is none
	parts   []part     // the fields of the output otherwise
	nothing bool       // but for an error
	fails   bool       // its last result is an error
}

// givenBy looks at the results of a function. A struct with a name is the output itself if
// it is alone; so is a pointer to one, unless it may be nil without an error.
func givenBy(f *gen.Function) (given, error) {
	var g given
	results := f.Signature.Results()
	count := results.Len()
	if count > 0 && isError(results.At(count-1).Type()) {
		g.fails = true
		count--
	}
	fields := parts{other: "result", alone: count == 1}
	for i := range count {
		v := results.At(i)
		if isError(v.Type()) {
			return given{}, f.Errorf("%s is not the last one, and a tool has one error alone", f.Result(i))
		}
		schema, err := f.Output(v.Type())
		if err != nil {
			return given{}, f.Errorf("JSON cannot hold %s: %s", f.Result(i), reason(err))
		}
		made, pointer := structOf(v.Type())
		if _, named := made.(interface{ Obj() *types.TypeName }); count == 1 && named && (schema == nil || isObject(schema) && (g.fails || !pointer)) {
			g.whole = v.Type()
			return g, nil
		}
		if schema == nil {
			return given{}, f.Errorf("%s decides what the client is told, and so has to be the only one beside an error", f.Result(i))
		}
		fields.add(v, i+1, v.Type(), false)
	}
	if g.parts = fields.list; count == 0 {
		g.nothing = true
		g.parts = []part{{name: "done", goName: "Done", held: types.Typ[types.Bool], about: "It was done"}}
	}
	return g, nil
}

// isError reports whether a type is error.
func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }
