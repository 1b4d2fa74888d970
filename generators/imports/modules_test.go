package imports_test

import (
	"strings"
	"testing"
)

// required is a project with modules in folders next to it.
const required = `
-- p/go.mod --
module example.com/p

go 1.26

require (
	example.com/dep v1.0.0
	example.com/go-dashed v1.0.0
	gopkg.in/dotted.v3 v3.0.0
	example.com/major/v2 v2.0.0
)

require example.com/indirect v1.0.0 // indirect

replace (
	example.com/dep => ../dep
	example.com/go-dashed => ../dashed
	gopkg.in/dotted.v3 => ../dotted
	example.com/major/v2 => ../major
	example.com/indirect => ../indirect
)
-- p/a/a.go --
package a

import (
	alias "example.com/dep/deep"
	"example.com/go-dashed"
)
-- p/own/own.go --
package own

var X int
-- p/chosen/a.go --
package chosen

import "example.com/dep/zz/same"
-- dep/go.mod --
module example.com/dep

go 1.26
-- dep/dep.go --
package dep

func F() {}
-- dep/dep_test.go --
package dep

func Tests() {}
-- dep/deep/a.go --
package deep

func F() {}
-- dep/own/a.go --
package own

var X, Y int
-- dep/a/same/a.go --
package same

var X int
-- dep/zz/same/a.go --
package same

var X int
-- dep/internal/secret/a.go --
package secret

func F() {}
-- dep/cmd/prog/main.go --
package main

func F() {}
-- dep/nested/go.mod --
module example.com/dep/nested
-- dep/nested/a.go --
package nested

func F() {}
-- dep/shared/a/b/c/a.go --
package shared

func F() {}
-- dep/bytes/a.go --
package bytes

func Own() {}
-- indirect/go.mod --
module example.com/indirect

go 1.26
-- indirect/shared/a.go --
package shared

func F() {}
-- indirect/alone/a.go --
package alone

func F() {}
-- dashed/go.mod --
module example.com/go-dashed

go 1.26
-- dashed/a.go --
package dashed

func F() {}
-- dotted/go.mod --
module gopkg.in/dotted.v3

go 1.26
-- dotted/a.go --
package dotted

func F() {}
-- major/go.mod --
module example.com/major/v2

go 1.26
-- major/a.go --
package major

func F() {}
`

func TestRequiredModules(t *testing.T) {
	b := within(t, required, "p")
	for _, c := range []struct{ file, head, body, want, missing string }{
		{body: "dep.F()", want: "example.com/dep"},
		{body: "deep.F()", want: "example.com/dep/deep"},
		{body: "dep.Tests()", missing: "package example.com/dep has no Tests; "},
		{body: "dashed.F()", want: "dashed example.com/go-dashed"},
		{body: "dotted.F()", want: "gopkg.in/dotted.v3"},
		{body: "major.F()", want: "example.com/major/v2"},
		{body: "secret.F()", missing: "no package secret with F in the standard library, this project or its required modules; if it is in another module, run go get for that module, or import the package explicitly"},
		{body: "prog.F()", missing: "no package prog"},
		{body: "nested.F()", missing: "no package nested"},

		// Other packages come first, if they have the selectors.
		{body: "_ = own.X", want: "example.com/p/own"},
		{body: "_ = own.Y", want: "example.com/dep/own"},
		{body: "bytes.Own()", want: "example.com/dep/bytes"},
		{body: "bytes.Clone(nil)", want: "bytes"},
		{body: "shared.F()", want: "shared example.com/dep/shared/a/b/c"},
		{body: "alone.F()", want: "example.com/indirect/alone"},
		{body: "_ = same.X", want: "example.com/dep/zz/same"},

		// Packages that files of the package already import.
		{file: "a/n.go", body: "alias.F()", want: "alias example.com/dep/deep"},
		{file: "a/n.go", body: "dashed.F()", want: "dashed example.com/go-dashed"},
		{head: `import "example.com/go-dashed"`, body: "dashed.F()"},
		{head: `import "example.com/unknown/go-dashed"`, body: "dashed.F()", want: "dashed example.com/go-dashed"},
	} {
		if c.file == "" {
			c.file = "q/q.go"
		}
		check(t, b, c.file, "package "+packageOf(c.file)+"\n\n"+c.head, c.body, c.want, c.missing)
	}
}

// within returns the project in a folder of an archive.
func within(t testing.TB, archive, dir string) *bench {
	t.Helper()
	return open(t, project(t, archive).dir+"/"+dir, "example.com/p")
}

// Modules that are folders, and go.mod, may change at any time.
func TestModulesChange(t *testing.T) {
	b := within(t, required, "p")
	check(t, b, "q/q.go", "package q", "fresh.F()", "", "no package fresh")
	write(t, b.dir, "../dep/fresh/a.go", "package fresh\n\nfunc F() {}\n")
	check(t, b, "q/q.go", "package q", "fresh.F()", "example.com/dep/fresh", "")

	b = project(t, vendored)
	check(t, b, "q/q.go", "package q", "dep.F()", "example.com/dep", "")
	check(t, b, "q/q.go", "package q", "more.F()", "", "no package more")
	write(t, b.dir, "vendor/modules.txt", modulesTxt+"example.com/dep/more\n")
	check(t, b, "q/q.go", "package q", "more.F()", "example.com/dep/more", "")
}

// modulesTxt is the vendor/modules.txt of vendored.
const modulesTxt = "# example.com/dep v1.0.0\n## explicit; go 1.26\nexample.com/dep\n"

// vendored is a project with vendored modules.
const vendored = `
-- go.mod --
module example.com/p

go 1.26

require example.com/dep v1.0.0
-- vendor/modules.txt --
` + modulesTxt + `-- vendor/example.com/dep/a.go --
package dep

func F() {}
-- vendor/example.com/dep/more/a.go --
package more

func F() {}
`

// A module that is not in the module cache is not downloaded, and go.mod and go.sum do not change.
func TestMissingModule(t *testing.T) {
	goMod := plain + "\nrequire example.com/nowhere v1.0.0\n"
	b := project(t, "-- go.mod --\n"+goMod)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "http://127.0.0.1:1")
	out, missing := b.add("q/q.go", "package q\n\nvar _ = nowhere.X + os.Args[0]\n")
	if !strings.Contains(out, `import "os"`) || len(missing) != 1 || missing[0].Name != "nowhere" || strings.Join(missing[0].Selectors, " ") != "X" {
		t.Fatalf("%s\n%v", out, missing)
	}
	for _, part := range []string{"no package nowhere with X in", "example.com/nowhere@v1.0.0", "run go mod download"} {
		if !strings.Contains(missing[0].Reason, part) {
			t.Errorf("%q is not in: %s", part, missing[0].Reason)
		}
	}
	if entries := read(t, b.dir); entries["go.mod"] != goMod || len(entries) != 1 {
		t.Errorf("the project is now %q", entries)
	}
}

func TestInvalidGoMod(t *testing.T) {
	b := project(t, "-- go.mod --\n"+plain+"\nrequire example.com/x v1.0.0\n")
	write(t, b.dir, "go.mod", plain+"\nrequire (\n")
	_, _, err := b.resolver.Add(t.Context(), b.view(), "q/q.go", []byte("package q\n\nvar _ = nowhere.X\n"))
	if err == nil || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("with an invalid go.mod: %v", err)
	}
}
