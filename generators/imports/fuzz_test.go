package imports_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// With any function body, the file still parses after imports were added, and its declarations are
// unchanged. Adding imports again adds none.
func FuzzAdd(f *testing.F) {
	for _, body := range []string{
		"fmt.Println(strings.ToUpper(\"x\"))", "url := url.Parse(x); url.Foo()", "_ = T{time.Now: 1}", "x.Y.Z()", "}; func g() { os.Exit(1)",
		"}\n\nimport \"os\"\n\nfunc g() {", "yaml.X()", "/*", "`", "//line x:1\nos.Exit(1)", "type T[P fmt.Stringer] struct{ sync.Mutex }", "\r\nos.Exit(1)\r\n", "base.F(); odd.O()",
	} {
		for kind := range uint8(6) {
			f.Add(body, kind)
		}
	}
	b := project(f, many)
	view := b.view()
	f.Fuzz(func(t *testing.T, body string, kind uint8) {
		head := []string{
			"package q\n\n", "package q; ", "package q\n\nimport \"io\"\n\n", "package q\n\nimport (\n\t\"io\" // a\n\n\t\"example.com/p/base\"\n)\n\n",
			"package q\r\nimport \"C\"\r\n", "package q\nimport (\"io\"; \"os\")\n",
		}[kind%6]
		before := head + "func f() {\n" + body + "\n}\n"
		out, _, err := b.resolver.Add(t.Context(), view, "q/q.go", []byte(before))
		if err != nil {
			t.Fatal(err)
		}
		had, ok := declarations(before)
		if !ok {
			if string(out) != before {
				t.Fatalf("it was changed to %q, want %q", string(out), before)
			}
			return
		}
		if has, ok := declarations(string(out)); !ok || has != had {
			t.Fatalf("%q\nbecomes\n%q with the declarations %q (%t), want %q", before, out, has, ok, had)
		}
		if string(out) == before {
			return
		}
		again, _, err := b.resolver.Add(t.Context(), view, "q/q.go", out)
		if err != nil || string(again) != string(out) {
			t.Fatalf("%q\nbecomes at first\n%q\nand then\n%q: %v; want the same and no error", before, out, again, err)
		}
	})
}

// declarations returns the text of a file from its first declaration after the imports.
func declarations(text string) (string, bool) {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	if err != nil {
		return "", false
	}
	for _, decl := range syntax.Decls {
		if d, ok := decl.(*ast.GenDecl); !ok || d.Tok != token.IMPORT {
			return text[fset.PositionFor(decl.Pos(), false).Offset:], true
		}
	}
	return "", true
}
