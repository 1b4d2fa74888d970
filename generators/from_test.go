package generators_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/engine"
)

// Each archive is a project: its files in addition to testdata/from/base, and inputs for the
// generator of tools, one per line, applied in order. The expected files and messages, or the
// error, follow. The results are derived from and type-checked.
func TestToolFrom(t *testing.T) {
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	base, err := txtar.ParseFile("testdata/from/base/base.txtar")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := filepath.Glob("testdata/from/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("found %d cases, %v; want at least one", len(cases), err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			unpack(t, dir, base.Files)
			var given, inputs []txtar.File
			for _, f := range archive.Files {
				switch {
				case strings.HasPrefix(f.Name, "want/"):
					continue
				case f.Name == "inputs":
					inputs = append(inputs, f)
				default:
					given = append(given, f)
				}
			}
			unpack(t, dir, given)
			want := string(txtar.Format(archive))
			archive.Files = append(given, append(inputs, generateAll(t, dir, string(inputs[0].Data), filepath.Base(file) == "shapes.txtar")...)...)
			if string(txtar.Format(archive)) == want {
				return
			}
			if !*update {
				t.Fatalf("got\n%s\nwant\n%s\n(-update writes the golden file)", txtar.Format(archive), want)
			}
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func unpack(t *testing.T, dir string, files []txtar.File) {
	t.Helper()
	for _, f := range files {
		file := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// generateAll generates a tool from each input and returns the files and messages. With all, they
// include tests and next steps.
func generateAll(t *testing.T, dir, inputs string, all bool) []txtar.File {
	t.Helper()
	e, err := engine.Open(dir, generators.All())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var made []txtar.File
	var output strings.Builder
	for input := range strings.Lines(inputs) {
		fmt.Fprintf(&output, "%s", input)
		result, err := e.Generate(t.Context(), "tool", []byte(input), engine.Options{})
		if err != nil {
			fmt.Fprintf(&output, "error: %v\n", err)
			continue
		}
		for _, f := range result.Files {
			if f.Derived || f.Path == contract.File || strings.HasSuffix(f.Path, "_test.go") && !all {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Path)))
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, txtar.File{Name: "want/" + f.Path, Data: text})
		}
		c := result.Components[0]
		fmt.Fprintf(&output, "%s: %s\n%s\n%s\n", c.Name, c.Description, c.Input, c.Output)
		for _, d := range result.Warnings {
			fmt.Fprintf(&output, "warning: %s\n", d)
		}
		for _, next := range result.Next {
			if all {
				fmt.Fprintf(&output, "next: %s\n", next)
			}
		}
	}
	return append(made, txtar.File{Name: "want/result", Data: []byte(output.String())})
}
