package generators_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/gen"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// Each archive is a JSON input and the expected files or error. Its name starts with that of the
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
			got := []txtar.File{archive.Files[0]}
			draft, err := runGenerator(t, kind, archive.Files[0].Data, features(string(archive.Comment)))
			for _, f := range draft.Files {
				got = append(got, txtar.File{Name: f.Path, Data: f.Text})
			}
			said := strings.Join(draft.Next, "\n") + "\n"
			if err != nil {
				said = "error: " + err.Error() + "\n"
			}
			got = append(got, txtar.File{Name: "said", Data: []byte(said)})
			want := string(txtar.Format(archive))
			archive.Files = got
			if string(txtar.Format(archive)) == want {
				return
			}
			if !*update {
				t.Fatalf("got\n%s\nwant\n%s\n(-update rewrites it)", txtar.Format(archive), want)
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
