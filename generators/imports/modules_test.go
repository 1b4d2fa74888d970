package imports_test

import (
	"testing"

	"github.com/petrock/petrock/generators/imports"
)

// others is a project that imports packages of other modules.
const others = `
-- a/a.go --
package a

import (
	alias "example.com/dep/deep"
	"example.com/go-dashed"
	"gopkg.in/dotted.v3"
)
-- b/b.go --
package b

import (
	"example.com/major/v2"
	"example.com/once/same"
	bytes "example.com/bytes"
)
-- c/c.go --
package c

import "example.com/twice/same"
-- d/d.go --
package d

import "example.com/twice/same"
-- own/own.go --
package own

var X int
-- generators/g.go --
package generators

import "example.com/hidden"
`

func TestOtherModules(t *testing.T) {
	b := project(t, others)
	b.resolver = imports.NewResolver("example.com/p", b.cache, "generators")
	for _, c := range []struct{ file, head, body, want, missing string }{
		{body: "alias.F()", want: "alias example.com/dep/deep"},
		{body: "deep.F()", missing: "no package deep with F in the standard library or this project; import a package of another module explicitly"},
		{body: "dashed.F()", want: "example.com/go-dashed"},
		{body: "dotted.F()", want: "gopkg.in/dotted.v3"},
		{body: "major.F()", want: "example.com/major/v2"},
		{body: "same.F()", want: "example.com/twice/same"},
		{body: "hidden.F()", missing: "no package hidden"},

		// Other packages come first, if they have the selectors.
		{body: "_ = own.X", want: "example.com/p/own"},
		{body: "bytes.Clone(nil)", want: "bytes"},
		{body: "bytes.Own()", want: "example.com/bytes"},

		// Packages that files of the package, or the file itself, already import.
		{file: "b/n.go", body: "same.F()", want: "example.com/once/same"},
		{head: `import "example.com/go-dashed"`, body: "dashed.F()"},
	} {
		if c.file == "" {
			c.file = "q/q.go"
		}
		check(t, b, c.file, "package "+packageOf(c.file)+"\n\n"+c.head, c.body, c.want, c.missing)
	}
}
