package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An inspection shows the declarations of the component's file. If they are long, functions have no
// bodies.
func TestInspectShowsDeclarations(t *testing.T) {
	b := open(t)
	b.write("tools/many.go", `package tools

import "context"

// One is a tool.
func One(ctx context.Context, in OneInput) (OneOutput, error) {
	return OneOutput{}, helper()
}

// OneInput is the input.
type OneInput struct {
	Level Level `+"`json:\"level\"`"+` // How much
}

// Level is a level.
type Level string

const (
	Low Level = "low"
)

// OneOutput is the output.
type OneOutput struct{}

// Two is another tool.
func Two(ctx context.Context, in TwoInput) (OneOutput, error) {
	`+strings.Repeat("helper()\n\t", 200)+`
	return OneOutput{}, nil
}

type TwoInput struct{}

func helper() error { return nil }
`)
	for _, test := range []struct {
		name      string
		has, lack []string
	}{
		{"one", []string{"func One(", "OneInput) (OneOutput, error) { … }", "type OneInput struct", "// How much", "type Level string", `Low Level = "low"`, "Function bodies are left out"}, []string{"return OneOutput", "import"}},
		{"posts/create", []string{"type Create struct", ") Apply(", "return "}, []string{"type State", "import", "…"}},
	} {
		shown, err := b.Inspect(t.Context(), "", test.name)
		if err != nil {
			t.Fatal(err)
		}
		for _, has := range test.has {
			if !strings.Contains(shown.Declarations, has) {
				t.Errorf("%s: got %q, want it to contain %q", test.name, shown.Declarations, has)
			}
		}
		for _, lack := range test.lack {
			if strings.Contains(shown.Declarations, lack) {
				t.Errorf("%s: got %q, want it without %q", test.name, shown.Declarations, lack)
			}
		}
	}
}

// ReadText reads text files of the project, and no others.
func TestReadText(t *testing.T) {
	b := open(t)
	b.write("notes.txt", "one\ntwo\nthree\n")
	b.write("long.txt", strings.Repeat("a line\n", 1000))
	b.write("image.png", "\x89PNG\x00")
	b.write(".git/config", "secret")
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		file     string
		from, to int
		says     string
	}{
		{"notes.txt", 0, 0, "notes.txt, lines 1 to 3 of 3\none\ntwo\nthree\n"},
		{"./tools/../notes.txt", 2, 2, "notes.txt, lines 2 to 2 of 3; pass from: 3 to read on\ntwo\n"},
		{"notes.txt", 2, 99, "notes.txt, lines 2 to 3 of 3\ntwo\nthree\n"},
		{"long.txt", 0, 0, "long.txt, lines 1 to 257 of 1000; pass from: 258 to read on\na line\n"},
		{"features", 0, 0, "features, lines 1 to 2 of 2\nposts/\nusers/\n"},
		{"notes.txt", 4, 0, "no lines from 4 to 3; the file has 3 lines"},
		{"nowhere.go", 0, 0, "the file does not exist"},
		{"../x", 0, 0, "outside of the project"},
		{outside, 0, 0, "outside of the project"},
		{"link", 0, 0, "path escapes"},
		{".git/config", 0, 0, "not part of the source"},
		{".petrock", 0, 0, "not part of the source"},
		{"image.png", 0, 0, "not a text file"},
	} {
		read, err := b.ReadText(t.Context(), test.file, test.from, test.to)
		said := ""
		if err != nil {
			said = err.Error()
		} else {
			said = read.Short(1).(interface{ String() string }).String()
		}
		if strings.Contains(said, "secret\n") || !strings.Contains(said, test.says) {
			t.Errorf("%s %d %d returned %.200q, want %q", test.file, test.from, test.to, said, test.says)
		}
	}
}

// The types of the project's own packages and tests are checked in memory.
func TestCheckTypes(t *testing.T) {
	b := open(t)
	packages, found, err := b.CheckTypes(t.Context())
	if err != nil || len(found) > 0 || len(packages) == 0 {
		t.Fatalf("got the packages %v, %v, %v; want some packages, no diagnostics and no error", packages, found, err)
	}
	for _, pkg := range packages {
		if strings.Contains(pkg, "/core") {
			t.Errorf("the packages include %q, want none of core", pkg)
		}
	}
	b.write("tools/add_more_test.go", "package tools\n\nvar wrong int = \"\"\n")
	_, found, err = b.CheckTypes(t.Context())
	if err != nil || len(found) != 1 || found[0].File != "tools/add_more_test.go" || !strings.Contains(found[0].Lines, "> 3 | var wrong") {
		t.Errorf(`got %v, %v; want no error and one diagnostic in tools/add_more_test.go at "> 3 | var wrong"`, found, err)
	}
}
