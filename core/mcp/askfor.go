package mcp

import (
	"context"
	"encoding/json"
	"errors"
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
	e := &Elicitation{Key: reflect.TypeFor[T]().Name(), Message: message}
	for _, set := range options {
		set(e)
	}
	if c := CallFrom(ctx); c != nil { // otherwise Ask returns an error
		e.Schema, err = c.via.server.formOf(reflect.TypeFor[T]())
	}
	if err == nil {
		err = Ask(ctx, e)
	}
	if err == nil {
		err = e.Decode(&answer)
	}
	return answer, err
}

// An AskOption is an option of [AskFor].
type AskOption func(*Elicitation)

// Key sets the key of a question, see [Ask]. The default is the name of its type.
func Key(key string) AskOption { return func(e *Elicitation) { e.Key = key } }

// formOf returns the form for a type: the derived one, or else an inferred one.
func (s *Server) formOf(t reflect.Type) (json.RawMessage, error) {
	if known, ok := s.forms.Load(t); ok {
		return known.(json.RawMessage), nil
	}
	document, err := jsonschema.Infer(t, jsonschema.Input)
	return s.addForm(t, document, err)
}

// addForm keeps the form that is made from the input schema of a struct. err is the error of the
// schema.
func (s *Server) addForm(t reflect.Type, document json.RawMessage, err error) (json.RawMessage, error) {
	if err == nil && t.Kind() != reflect.Struct {
		err = errors.New("must be a struct")
	}
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
	_, err = d.server.addForm(t, schema, err)
	return err
}
