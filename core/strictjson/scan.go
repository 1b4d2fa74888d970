package strictjson

import (
	"encoding/json"

	"github.com/petrock/petrock/core/internal/jsonscan"
)

// MaxDepth is the maximum nesting depth of arrays and objects.
const MaxDepth = jsonscan.MaxDepth

// Check returns an [*Error] unless data is exactly one JSON value, with optional white space around
// it, that follows all rules of this package.
func Check(data []byte) error { return jsonscan.Check(data) }

// Object parses data, which must be one JSON object, and calls member for each of its members in
// order, with the unescaped key and the raw value. member must not modify the slices; value is part
// of data. If member returns an error, Object stops and returns it.
//
// If data is malformed, Object calls member for the members before the syntax error. It returns the
// error of a duplicate key, at any depth, only after the last member.
func Object(data []byte, member func(key, value []byte) error) error {
	return jsonscan.Object(data, func(key, value []byte, _ jsonscan.Ends) error { return member(key, value) })
}

// Array parses data, which must be one JSON array, and calls element for each of its elements in
// order. Errors are as in [Object].
func Array(data []byte, element func(value []byte) error) error {
	return jsonscan.Array(data, element)
}

// First returns the first byte of data that is not white space, or 0. It determines the kind of a
// value.
func First(data []byte) byte { return jsonscan.First(data) }

// Members is a faster [Object] for data that [Check] accepts, such as a value from [Object]. It may
// panic on other input. For a value that is not an object it returns a [*TypeError].
func Members(data []byte, member func(key, value []byte) error) error {
	if First(data) != '{' {
		return typeMismatch("an object", data)
	}
	return jsonscan.Members(data, &jsonscan.Ends{}, member)
}

// Elements is a faster [Array] for data that [Check] accepts. It may panic on other input. For a
// value that is not an array it returns a [*TypeError].
func Elements(data []byte, element func(value []byte) error) error {
	if First(data) != '[' {
		return typeMismatch("an array", data)
	}
	// An element is a member without a key.
	return jsonscan.Members(data, &jsonscan.Ends{}, func(_, value []byte) error { return element(value) })
}

// Member returns the value of a member of object, or nil if the member does not exist or object is
// not an object. Like [Members], it requires valid JSON or nil.
func Member(object []byte, name string) json.RawMessage {
	start, end := jsonscan.Member(object, name)
	if end == 0 {
		return nil
	}
	return object[start:end]
}
