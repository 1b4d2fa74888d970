package strictjson

import "fmt"

// A Kind says which rule an input broke.
type Kind int

const (
	// Syntax is input that is not JSON, invalid UTF-8 included.
	Syntax Kind = iota + 1
	// Depth is a value nested deeper than [MaxDepth].
	Depth
	// Duplicate is a key that stands twice in one object.
	Duplicate
)

// An Error is a rule broken by the input itself, whatever it was to be decoded into.
type Error struct {
	Kind   Kind
	Offset int // where in the input, in bytes
	Msg    string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Msg, e.Offset)
}

// A TypeError is JSON that does not fit the Go value it was to be decoded into.
type TypeError struct {
	Path string // such as items[2].price; empty for the whole value
	Msg  string // such as "must be a number, got a string"

	// Unknown and Missing are the keys of the object at Path that an exact decoder refuses and lacks.
	Unknown, Missing []string
}

func (e *TypeError) Error() string {
	if e.Path == "" {
		return e.Msg
	}
	return e.Path + ": " + e.Msg
}
