package gen

import (
	"encoding/json"
	"fmt"
	"go/types"
	"strings"
)

// A Function is what a generator is told of a function of the project that a tool is to be made of.
// Tools may import its package, and may write down all types of its signature.
type Function struct {
	Ref       string   // how it was asked for
	Path      string   // import path of its package
	Package   string   // name of its package
	Call      []string // what stands behind the package in a call: a function, or a variable and its method
	Signature *types.Signature
	Doc       string   // text of its doc comment, without directives; empty if it has none
	Taken     []string // what the package of the tools declares, which nothing that it imports may be called

	// Input is the JSON Schema of a type that a tool takes, or why there is none; Output is that of
	// a type that a tool gives back, nil for a result that decides for itself.
	Input, Output func(types.Type) (json.RawMessage, error)
}

// Name is the name of the function or method itself.
func (f *Function) Name() string { return f.Call[len(f.Call)-1] }

// Parameter names a parameter with its type, for messages.
func (f *Function) Parameter(at int) string {
	params := f.Signature.Params()
	text := typed("parameter", at, params)
	if f.Signature.Variadic() && at == params.Len()-1 {
		text = strings.Replace(text, "([]", "(...", 1)
	}
	return text
}

// Result names a result with its type, for messages.
func (f *Function) Result(at int) string { return typed("result", at, f.Signature.Results()) }

// typed is one of several with its type.
func typed(what string, at int, list *types.Tuple) string {
	v := list.At(at)
	t := types.TypeString(v.Type(), (*types.Package).Name)
	if v.Name() == "" || v.Name() == "_" {
		return fmt.Sprintf("its %s %d (%s)", what, at+1, t)
	}
	return fmt.Sprintf("its %s %s (%s)", what, v.Name(), t)
}

// Errorf says what is wrong with a function, and the way out that there always is.
func (f *Function) Errorf(format string, args ...any) error {
	return fmt.Errorf("%q: %s; write a small function around %s, and make the tool of that", f.Ref, fmt.Sprintf(format, args...), strings.Join(f.Call, "."))
}
