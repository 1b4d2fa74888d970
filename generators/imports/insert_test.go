package imports_test

import (
	"bytes"
	"flag"
	"go/format"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite testdata/insert.txtar")

// The archive has files before and after imports were added, in turn. Formatted files stay
// formatted.
func TestInsert(t *testing.T) {
	b := project(t, many)
	const golden = "testdata/insert.txtar"
	archive, err := txtar.ParseFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	cases := txtar.Archive{Comment: archive.Comment}
	want := map[string]string{}
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, " after"); ok {
			want[name] = string(f.Data)
			continue
		}
		out, missing := b.add("q/q.go", string(f.Data))
		if len(missing) > 0 {
			t.Errorf("%s lacks the packages %+v, want none", f.Name, missing)
		}
		cases.Files = append(cases.Files, f, txtar.File{Name: f.Name + " after", Data: []byte(out)})
		if isFormatted(f.Data) && !isFormatted([]byte(out)) {
			t.Errorf("%s: gofmt would change\n%s", f.Name, out)
		}
	}
	if *update {
		if err := os.WriteFile(golden, txtar.Format(&cases), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, f := range cases.Files {
		if name, ok := strings.CutSuffix(f.Name, " after"); ok && string(f.Data) != want[name] {
			t.Errorf("%s becomes\n%s\nnot\n%s\n(go test ./generators/imports -update writes it down)", name, f.Data, want[name])
		}
	}
}

// isFormatted reports whether gofmt would not change a file.
func isFormatted(text []byte) bool {
	after, err := format.Source(text)
	return err == nil && bytes.Equal(after, text)
}

// Odd files, which a txtar archive cannot hold: the head is formatted, the rest stays as it is.
func TestInsertOddly(t *testing.T) {
	b := project(t, "")
	for _, c := range []struct{ before, after string }{
		{"package q; var x = os.Args", "package q\n\nimport \"os\"\n\nvar x = os.Args"},
		{"package q; var x, y = os.Args, io.EOF", "package q\n\nimport (\n\t\"io\"\n\t\"os\"\n)\n\nvar x, y = os.Args, io.EOF"},
		{"package q /* a\nb */\nvar x = os.Args", "package q /* a\nb */\n\nimport \"os\"\n\nvar x = os.Args"},
		{"package q /* a */; var x = os.Args", "package q /* a */\n\nimport \"os\"\n\nvar x = os.Args"},
		{"package q /* a\nb */ var x = os.Args", "package q /* a\nb */\n\nimport \"os\"\n\nvar x = os.Args"},
		{"package q\r\n\r\nvar x = os.Args\r\n", "package q\n\nimport \"os\"\n\nvar x = os.Args\r\n"},
		{"package q\r\n\r\nimport \"io\" // a\r\n\r\nvar x, y = os.Args, io.EOF\r\n", "package q\n\nimport (\n\t\"io\" // a\n\t\"os\"\n)\n\nvar x, y = os.Args, io.EOF\r\n"},
		{"\ufeffpackage q\n\nvar x = os.Args\n", "package q\n\nimport \"os\"\n\nvar x = os.Args\n"},
		{"package q\n\nimport (\"io\"; \"fmt\")\n\nvar x = os.Args", "package q\n\nimport (\n\t\"fmt\"\n\t\"io\"\n\t\"os\"\n)\n\nvar x = os.Args"},
		{"package q\n\nimport \"io\"; import \"fmt\"\n\nvar x = os.Args", "package q\n\nimport (\n\t\"fmt\"\n\t\"io\"\n\t\"os\"\n)\n\nvar x = os.Args"},
		{"package q\n\nimport \"io\"; var x = os.Args", "package q\n\nimport (\n\t\"io\"\n\t\"os\"\n)\n\nvar x = os.Args"},
		{"package q\nimport \"io\";\nvar x = os.Args", "package q\n\nimport (\n\t\"io\"\n\t\"os\"\n)\n\nvar x = os.Args"},
		{"package q\nimport\n\"io\"\nvar x = os.Args", "package q\n\nimport (\n\t\"io\"\n\t\"os\"\n)\n\nvar x = os.Args"},
		{"package q\nimport ()\nvar x = os.Args", "package q\n\nimport \"os\"\n\nvar x = os.Args"},
		{"package q\nimport (\n)\nvar x, y = os.Args, io.EOF", "package q\n\nimport (\n\t\"io\"\n\t\"os\"\n)\n\nvar x, y = os.Args, io.EOF"},
		{"package q\nimport (\n\t\"io\" /* a\n\tb */\n)\nvar x = os.Args", "package q\n\nimport (\n\t\"io\" /* a\n\tb */\"os\"\n)\n\nvar x = os.Args"},
		{"package q\nimport (\n\t\"io\" /*/ a */ /* b\n\t*/ )\nvar x = os.Args", "package q\n\nimport (\n\t\"io\" /*/ a */ /* b\n\t */\"os\"\n)\n\nvar x = os.Args"},
		{"package q\n//line x.go:900\nimport (\n\t\"io\"\n//line y.go:1\n\t\"strings\"\n)\nvar x = os.Args", "package q\n\n//line x.go:900\nimport (\n\t\"io\"\n\t\"os\"\n//line y.go:1\n\t\"strings\"\n)\n\nvar x = os.Args"},
		{"package q\n\nimport (\n\t\"strings\"\n\t\"io\"\n)\n\nvar x = os.Args\n", "package q\n\nimport (\n\t\"io\"\n\t\"os\"\n\t\"strings\"\n)\n\nvar x = os.Args\n"},
	} {
		if out, _ := b.add("q/q.go", c.before); out != c.after {
			t.Errorf("out = %q, want %q (before %q)", out, c.after, c.before)
		}
	}
}

// Imports that a file does not use are removed if their names are known.
func TestRemoveUnused(t *testing.T) {
	b := project(t, many)
	for text, want := range map[string]string{
		"package q\n\nimport (\n\t\"fmt\"\n\t\"strings\"\n)\n\nvar X = fmt.Sprint() // strings.X\n": "package q\n\nimport (\n\t\"fmt\"\n)\n\nvar X = fmt.Sprint() // strings.X\n",
		"package q\n\nimport \"math/rand/v2\"\n\nvar X = 1\n":                                       "package q\n\nvar X = 1\n",
		"package q\n\nimport r \"math/rand/v2\"\n\nvar X = r.Int()\n":                               "package q\n\nimport r \"math/rand/v2\"\n\nvar X = r.Int()\n",
		"package q\n\nimport (\n\t_ \"embed\"\n\t. \"fmt\"\n\n\t\"gopkg.in/other.v3\"\n)\n":         "",
		"package q\n\nimport \"fmt\"\n\nfunc {\n":                                                   "",
	} {
		if want == "" {
			want = text
		}
		out, err := b.resolver.RemoveUnused(t.Context(), b.view(), "q/q.go", []byte(text))
		if err != nil || string(out) != want {
			t.Errorf("%s becomes\n%s (%v); want no error and\n%s", text, out, err, want)
		}
	}
}
