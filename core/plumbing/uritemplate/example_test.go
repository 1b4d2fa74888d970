package uritemplate_test

import (
	"fmt"
	"log"

	"github.com/petrock/petrock/core/plumbing/uritemplate"
)

func ExampleTemplate() {
	template, err := uritemplate.Parse("note://{folder}/{+path}{?at}")
	if err != nil {
		log.Fatal(err)
	}
	values, ok := template.Match("note://home/a/b?at=1")
	fmt.Println(values, ok)

	uri, err := template.Expand(map[string]string{"folder": "home", "path": "a/b c"})
	fmt.Println(uri, err)
	// Output:
	// map[at:1 folder:home path:a/b] true
	// note://home/a/b%20c <nil>
}
