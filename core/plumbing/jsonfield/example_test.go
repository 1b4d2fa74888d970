package jsonfield_test

import (
	"fmt"
	"reflect"

	"github.com/petrock/petrock/core/plumbing/jsonfield"
)

func ExampleDecoded() {
	type base struct {
		ID string `json:"id"`
	}
	type note struct {
		base
		Title string `json:"title,omitempty"`
		Draft bool   `json:"-"`
	}
	for _, f := range jsonfield.Decoded(reflect.TypeFor[note]()) {
		fmt.Println(f.Name, f.Key, f.Depth, f.Omits)
	}
	// Output:
	// ID id 2 false
	// Title title 1 true
}
