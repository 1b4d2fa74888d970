package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/petrock/petrock/core/internal/form"
	"github.com/petrock/petrock/core/internal/jsonschema"
)

// AskFor asks the user to fill in a form, and returns it. T is a struct whose fields are those of
// the form:
//
//	type Confirm struct {
//		Sure bool `json:"sure"` // Whether to remove all notes
//	}
//
//	answer, err := mcp.AskFor[Confirm](ctx, "Remove all notes?")
//
// It has the rules of [Ask]: return the error, and change nothing before. If the user declines, the
// error is [ErrDeclined], and [ErrCancelled] if the user dismisses the question; check for them
// with [errors.Is]. Before revision 2025-06-18, the error is a [*CannotAskError].
//
// Fields are strings, numbers, booleans, enums of strings and, from revision 2025-11-25 on, lists
// of such an enum. Their tags json and schema are those of tools, except pattern, unique and
// header. Fields with omitempty or a default are optional. If a package of tools, resources or
// prompts calls AskFor, petrock derives the form, with the comments of fields and the constants of
// enum types.
func AskFor[T any](ctx context.Context, message string, options ...AskOption) (answer T, err error) {
	e := &Elicitation{Message: message}
	if err = e.askFor(ctx, reflect.TypeFor[T](), options); err == nil {
		err = e.Decode(&answer)
	}
	return answer, err
}

// An AskOption is an option of [AskFor].
type AskOption func(*Elicitation)

// Key sets the key of a question, see [Ask]. The default is the name of its type.
func Key(key string) AskOption { return func(e *Elicitation) { e.Key = key } }

func (e *Elicitation) askFor(ctx context.Context, t reflect.Type, options []AskOption) (err error) {
	e.Key = t.Name()
	for _, set := range options {
		set(e)
	}
	if c := CallFrom(ctx); c != nil { // otherwise Ask returns an error
		if e.Schema, err = c.via.server.formOf(t); err != nil {
			return err
		}
	}
	return Ask(ctx, e)
}

// formOf returns the form for a type: the derived one, or else an inferred one.
func (s *Server) formOf(t reflect.Type) (json.RawMessage, error) {
	if known, ok := s.forms.Load(t); ok {
		return known.(json.RawMessage), nil
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("form %v: must be a struct", t)
	}
	document, err := jsonschema.Infer(t, jsonschema.Input)
	if err == nil {
		document, err = form.Of(document)
	}
	if err != nil {
		return nil, fmt.Errorf("form %v: %w", t, err)
	}
	s.forms.Store(t, document)
	return document, nil
}

// AddForm is for derived code: it registers the input schema of a struct, from which [AskFor] makes
// its form.
func AddForm[T any](d *Derived, schema json.RawMessage) error {
	t := reflect.TypeFor[T]()
	compiled, err := jsonschema.Compile(schema)
	if err == nil {
		err = d.check(compiled, t, jsonschema.Input)
	}
	if err == nil {
		schema, err = form.Of(schema)
	}
	if err != nil {
		return fmt.Errorf("add form %v: %w", t, err)
	}
	d.server.forms.Store(t, schema)
	return nil
}
