package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/petrock/petrock/generators/engine"
)

const noteGenerator = `package generators

import "hello/generators/gen"

// NoteInput is the input of Note.
type NoteInput struct {
	Name string ` + "`json:\"name\"`" + ` // Name of the note
}

// Note creates notes.
//
//petrock:makes notes/* docs/*.md
func Note(p gen.Project, in NoteInput) (gen.Draft, error) { return gen.Draft{}, nil }

// Page creates pages.
func Page(p gen.Project, in NoteInput) (gen.Draft, error) { return gen.Draft{}, nil }

// Check creates checks.
//
//petrock:makes checks/*.go
func Check(p gen.Project, in NoteInput) (gen.Draft, error) { return gen.Draft{}, nil }
`

// Components of the project's own generators are the files that their directive names.
func TestComponentsOfOwnGenerators(t *testing.T) {
	b := openNotes(t)
	b.write("generators/gen/gen.go", "package gen\n\ntype Project struct{}\n\ntype Draft struct{}\n\ntype Generator struct {\n\tName, Description string\n\tInputSchema []byte\n\tMake func(Project, []byte) (Draft, error)\n}\n\nfunc Typed[In any](f func(Project, In) (Draft, error)) func(Project, []byte) (Draft, error) { return nil }\n")
	b.write("generators/cli/cli.go", "package cli\n\nfunc Main[G any](a, b, c any, own ...G) int { return 0 }\n")
	b.write("core/stdfd/stdfd.go", "package stdfd\n\nimport \"os\"\n\nfunc TakeStdout() (*os.File, error) { return os.Stdout, nil }\n")
	b.write("internal/generators/note.go", noteGenerator)
	b.note("a")
	b.note("b")
	b.write("docs/b.md", "# B\n")
	b.write("checks/disk.go", "package checks\n\n// Disk checks the disk.\nfunc Disk() error { return nil }\n")
	b.write("checks/disk_test.go", "package checks\n")
	b.write("checks/memory.go", "package checks\n\nfunc Memory() error { return nil }\n")
	b.write("checks/all_test.go", "package checks\n\nimport \"testing\"\n\nfunc TestAll(t *testing.T) { _ = Disk() }\n")

	listed := func() (names []string) {
		listing, err := b.List(t.Context())
		if err != nil || !listing.OK {
			t.Fatalf("%v %+v; want no error and OK true", err, listing)
		}
		for _, c := range listing.Components {
			if c.Kind != "generator" {
				names = append(names, string(c.Kind)+" "+c.Name)
			}
		}
		return names
	}
	if got, want := listed(), []string{"check disk", "check memory", "note a", "note b"}; !slices.Equal(got, want) {
		t.Errorf("the components are %q, want %q", got, want)
	}
	shown, err := b.Inspect(t.Context(), "", "Disk")
	if err != nil || shown.Component.Name != "disk" || shown.Component.Description != "Disk checks the disk." || shown.TestFile != "checks/disk_test.go" {
		t.Errorf(`inspect: %+v, %v; want no error, Component.Name "disk", Component.Description "Disk checks the disk." and TestFile "checks/disk_test.go"`, shown, err)
	}
	if shown, err := b.Inspect(t.Context(), "note", "a"); err != nil || shown.Source != "a" {
		t.Errorf(`inspect: %+v, %v; want no error and Source "a"`, shown, err)
	}
	for _, test := range []struct{ kind, name, want string }{
		{"nothing", "a", `"nothing" is not a kind of component; the kinds are command, feature, generator, prompt, query, resource, tool, type, worker, check, note`},
		{"page", "a", `"page" is not a kind of component`},
		{"note", "c", `note "c" does not exist; the project has a, b`},
		{"check", "disk", "you have edited files of check disk"},
		{"tool", "a", `tool "a" does not exist`},
	} {
		_, err := b.Destroy(t.Context(), test.kind, test.name, engine.Options{})
		b.checkError(err, test.want)
	}

	// The caller of an own generator can correct its input or its template.
	for _, text := range []string{`1`, `"a "b" c"`} {
		input, err := json.Marshal(map[string]string{"name": "net", "text": text})
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Generate(t.Context(), "check", input, engine.Options{})
		b.checkError(err, "Nothing was changed. Correct the input of check or its template in internal/generators and retry.")
	}

	// A component is destroyed with all of its files, unless edited tests use it.
	gone, err := b.Destroy(t.Context(), "note", "b", engine.Options{Force: true})
	if err != nil || len(gone.Files) != 2 || gone.Kind != "note" || gone.Name != "b" {
		t.Errorf("destroy: %+v, %v; want no error and the two files of the note b", gone, err)
	}
	_, err = b.Destroy(t.Context(), "check", "Disk", engine.Options{Force: true})
	b.checkError(err, "destroy check disk: other code uses it:\n  checks/all_test.go:5:")
	if err := os.Remove(filepath.Join(b.dir, "checks/all_test.go")); err != nil {
		t.Fatal(err)
	}
	if _, err = b.Destroy(t.Context(), "check", "Disk", engine.Options{Force: true}); err != nil {
		t.Error(err)
	}
	if got, want := listed(), []string{"check memory", "note a"}; !slices.Equal(got, want) {
		t.Errorf("the components are %q, want %q", got, want)
	}
	if _, err := b.Undo(t.Context(), "", engine.Options{}); err != nil || len(listed()) != 3 {
		t.Errorf("after undo: %q, %v; want no error and three components", listed(), err)
	}
}
