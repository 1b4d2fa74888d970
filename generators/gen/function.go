package gen

import (
	"encoding/json"
	"fmt"
	"go/types"
	"strings"
)

// A Function is a function of the project to make a tool of. Tools can import its package and name
// all types of its signature.
type Function struct {
	Ref       string   // the reference that the caller gave
	Path      string   // import path of its package
	Package   string   // name of its package
	Call      []string // the call without the package: a function, or a variable and its method
	Signature *types.Signature
	Doc       string   // text of its doc comment, without directives; empty if it has none
	Taken     []string // names that the tools' package declares, which its imports must not use

	// Input returns the JSON Schema of a type as the input of a tool, Output as its output: nil for a
	// result with content of its own. The error says why there is none.
	Input, Output func(types.Type) (json.RawMessage, error)
}

// Name returns the name of the function or method.
func (f *Function) Name() string { return f.Call[len(f.Call)-1] }

// Parameter describes a parameter with its type, for messages.
func (f *Function) Parameter(at int) string {
	params := f.Signature.Params()
	text := typed("parameter", at, params)
	if f.Signature.Variadic() && at == params.Len()-1 {
		text = strings.Replace(text, "([]", "(...", 1)
	}
	return text
}

// Result describes a result with its type, for messages.
func (f *Function) Result(at int) string { return typed("result", at, f.Signature.Results()) }

// typed describes a variable of a tuple with its type.
func typed(what string, at int, list *types.Tuple) string {
	v := list.At(at)
	t := types.TypeString(v.Type(), (*types.Package).Name)
	if v.Name() == "" || v.Name() == "_" {
		return fmt.Sprintf("its %s %d (%s)", what, at+1, t)
	}
	return fmt.Sprintf("its %s %s (%s)", what, v.Name(), t)
}

// Errorf returns an error about the function, with the remedy that always works.
func (f *Function) Errorf(format string, args ...any) error {
	return fmt.Errorf("%q: %s; write a small function around %s, and make the tool of that", f.Ref, fmt.Sprintf(format, args...), strings.Join(f.Call, "."))
}
