package generators_test

import (
	"encoding/json"
	"flag"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// The package comment lists every package below this one, and its arrows are imports.
func TestPackageComment(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "generators.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	var listed, below []string
	for _, found := range regexp.MustCompile(`(?m)^ +- (\w+): `).FindAllStringSubmatch(file.Doc.Text(), -1) {
		listed = append(listed, found[1])
	}
	sources, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		if dir := filepath.Dir(source); !slices.Contains(below, dir) {
			below = append(below, dir)
		}
	}
	slices.Sort(listed)
	if !slices.Equal(listed, below) {
		t.Errorf("the package comment lists %q, want %q", listed, below)
	}
	_, arrows, _ := strings.Cut(file.Doc.Text(), "Imports point down: ")
	chain := strings.Split(strings.TrimSuffix(strings.TrimSpace(arrows), "."), " → ")
	for i, from := range chain[:len(chain)-1] {
		if want := "github.com/petrock/petrock/generators/" + chain[i+1]; !slices.Contains(importsOf(t, from), want) {
			t.Errorf("%s does not import %s, as the package comment says", from, want)
		}
	}
}

// importsOf returns what the Go files in a folder import, without its tests.
func importsOf(t *testing.T, dir string) (all []string) {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			if !strings.HasSuffix(source, "_test.go") {
				all = append(all, strings.Trim(spec.Path.Value, `"`))
			}
		}
	}
	return all
}
