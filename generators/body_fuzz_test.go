package generators_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/gen"
)

// A body is refused, or stays inside of its function: it adds no declarations and no imports to the
// file.
func FuzzBody(f *testing.F) {
	for _, body := range []string{
		"return XOutput{}, nil",
		"import \"os\"\n\nos.Exit(1)",
		"import (\n\t\"fmt\"\n\tr \"math/rand\"\n)\nfmt.Println(r.Int())",
		"return XOutput{}, nil\n}\n\nfunc init() {",
		"} ; import \"C\" ; func y() {",
		"import . \"os\"", "import _ \"os\"", "import \"C\"", "import \"a\"; import \"b\"; x()",
		"x := `\n}\n`\n_ = x", "/* } */", "// }", "//line x.go:1\nfoo()", "func() {\n}()", "}{", "\x00", "\ufeffx()", "if x {", "goto l\nl:", "x() // c",
		"//go:build ignore\nx()", "package p", "type T struct{}", "select {}", "\r\nx()\r\n", "import \"os\" os.Exit(1)", "import \"x\ny\"",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		draft, err := generators.Tool(gen.Project{Name: "hello", Module: "example.com/hello"}, generators.ToolInput{Name: "x", Implementation: generators.Implementation{Body: body}})
		if err != nil || body == "" {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", draft.Files[0].Text, parser.ParseComments)
		if err != nil {
			t.Fatalf("%q: the file does not parse: %v\n%s", body, err, draft.Files[0].Text)
		}
		var names []string
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				names = append(names, decl.Name.Name)
			case *ast.GenDecl:
				if decl.Tok != token.IMPORT {
					names = append(names, decl.Specs[0].(*ast.TypeSpec).Name.Name)
				}
			}
		}
		if len(names) != 3 || names[0] != "XInput" || names[1] != "XOutput" || names[2] != "X" {
			t.Fatalf("%q: the file declares %v, want XInput, XOutput and X:\n%s", body, names, draft.Files[0].Text)
		}
		if len(file.Imports) != 1 || file.Imports[0].Path.Value != `"context"` {
			t.Fatalf("%q: the file imports %v, want only context:\n%s", body, file.Imports, draft.Files[0].Text)
		}
	})
}
