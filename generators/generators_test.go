package generators_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/gen"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

// Each archive is a JSON input and the expected draft or error. Its name starts with that of the
// generator. A line "features: …" before the first file lists existing features.
func TestGenerators(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("found %d cases, %v; want at least one", len(cases), err)
	}
	seen := map[string]bool{}
	for _, file := range cases {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		kind, _, _ := strings.Cut(name, "_")
		seen[kind] = true
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := string(txtar.Format(archive))
			draft, err := runGenerator(t, kind, archive.Files[0].Data, features(string(archive.Comment)))
			archive.Files = append(archive.Files[:1], draftFiles(draft, err)...)
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
	for _, g := range generators.All() {
		if !seen[g.Name] {
			t.Errorf("no case has the generator %q, want one", g.Name)
		}
	}
}

// draftFiles returns the files of a draft, and a file named result with all other values, one
// line each, or the error. Changed files and samples have their role before their path.
func draftFiles(draft gen.Draft, err error) []txtar.File {
	if err != nil {
		return []txtar.File{{Name: "result", Data: fmt.Appendf(nil, "error: %v\n", err)}}
	}
	var files []txtar.File
	var result strings.Builder
	add := func(label string, values ...string) {
		for _, value := range values {
			fmt.Fprintf(&result, "%s: %s\n", label, value)
		}
	}
	add(draft.Kind, draft.Name)
	for _, f := range draft.Files {
		files = append(files, txtar.File{Name: f.Path, Data: f.Text})
		for _, i := range f.Imports {
			add("import in "+f.Path, strings.TrimSpace(i.Name+" "+strconv.Quote(i.Path)))
		}
	}
	for _, f := range draft.Changes {
		files = append(files, txtar.File{Name: "changed " + f.Path, Data: f.Text})
	}
	for _, f := range draft.Sample {
		files = append(files, txtar.File{Name: "sample " + f.Path, Data: f.Text})
	}
	add("new version of", draft.NewVersionsOf...)
	if draft.Trial.Test != "" {
		add("trial", draft.Trial.Test)
	}
	for _, e := range draft.Trial.Examples {
		add("example", e.Name)
	}
	add("notice", draft.Notices...)
	add("warning", draft.Warnings...)
	add("next", draft.Next...)
	return append(files, txtar.File{Name: "result", Data: []byte(result.String())})
}

// features returns the features in the comment of an archive.
func features(comment string) map[string]string {
	packages := map[string]string{}
	for line := range strings.Lines(comment) {
		if names, ok := strings.CutPrefix(line, "features:"); ok {
			for name := range strings.FieldsSeq(names) {
				packages["features/"+name] = name
			}
		}
	}
	return packages
}

func runGenerator(t *testing.T, kind string, input []byte, packages map[string]string) (gen.Draft, error) {
	t.Helper()
	for _, g := range generators.All() {
		if g.Name != kind {
			continue
		}
		s, err := schema.Compile(g.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(input); err != nil {
			return gen.Draft{}, err
		}
		return g.Make(gen.Project{Name: "hello", Module: "example.com/hello", Packages: packages}, json.RawMessage(input))
	}
	t.Fatalf("there is no generator %s", kind)
	return gen.Draft{}, nil
}
