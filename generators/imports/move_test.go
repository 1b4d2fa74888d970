package imports_test

import (
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/imports"
)

func TestRewrite(t *testing.T) {
	const src = "package a\n\nimport (\n\t\"fmt\"\n\n\tx \"hello/core/mcp\" // the server\n\t\"hello/v2/core/app\"\n\t\"hellos/core\"\n)\n\nvar s   = \"hello/core/mcp\"\n"
	for name, test := range map[string]struct {
		moves []imports.Move
		want  []string
	}{
		"nothing":        {nil, []string{`x "hello/core/mcp" // the server`}},
		"another module": {[]imports.Move{{From: "hello", To: "example.com/new"}}, []string{`x "example.com/new/core/mcp" // the server`, `"example.com/new/v2/core/app"`, `"hellos/core"`, `var s   = "hello/core/mcp"`}},
		"a module below": {[]imports.Move{{From: "hello", To: "hello/v2"}}, []string{`x "hello/v2/core/mcp"`, `"hello/v2/core/app"`}},
		"the first":      {[]imports.Move{{From: "hello/core", To: "b/core"}, {From: "hello", To: "c"}}, []string{`x "b/core/mcp"`, `"c/v2/core/app"`}},
	} {
		got, err := imports.Rewrite("a.go", []byte(src), test.moves)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range test.want {
			if !strings.Contains(string(got), want) {
				t.Errorf("%s: no %s in\n%s", name, want, got)
			}
		}
	}
	if _, err := imports.Rewrite("a.go", []byte("import"), nil); err == nil || !strings.Contains(err.Error(), "a.go") {
		t.Errorf(`invalid Go: %v; want an error containing "a.go"`, err)
	}
}
