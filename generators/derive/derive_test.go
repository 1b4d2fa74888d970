package derive_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/constant"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/typecheck"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// Each archive is a module. The expected derived files follow its files, then problems and warnings
// in want.
func TestDerive(t *testing.T) {
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	cases, err := filepath.Glob("testdata/*.txtar")
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
			var given, want []txtar.File
			for _, f := range archive.Files {
				if strings.HasPrefix(f.Name, "want") {
					want = append(want, f)
					continue
				}
				given = append(given, f)
				write(t, filepath.Join(dir, f.Name), f.Data)
			}
			got := deriveTwice(t, dir)
			if string(txtar.Format(&txtar.Archive{Files: got})) == string(txtar.Format(&txtar.Archive{Files: want})) {
				return
			}
			if !*update {
				t.Fatalf("got\n%s\nwant\n%s\n(-update writes the golden file)", txtar.Format(&txtar.Archive{Files: got}), txtar.Format(&txtar.Archive{Files: want}))
			}
			archive.Files = append(given, got...)
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// deriveTwice derives twice, compares, and returns the derived files, problems and warnings.
func deriveTwice(t *testing.T, dir string) []txtar.File {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	first, second := deriveOnce(t, root), deriveOnce(t, root)
	if a, b := txtar.Format(&txtar.Archive{Files: first}), txtar.Format(&txtar.Archive{Files: second}); string(a) != string(b) {
		t.Errorf("two runs differ:\n%s\n%s", a, b)
	}
	return first
}

func deriveOnce(t *testing.T, root *os.Root) []txtar.File {
	t.Helper()
	cache := typecheck.NewExportCache(root)
	system, err := cache.System(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store := typecheck.NewStore(root, system.Context())
	view, err := store.View()
	if err != nil {
		t.Fatal(err)
	}
	project := derive.Project{Name: "hello", Core: "example.com/hello/core", Checker: typecheck.NewChecker(typecheck.Module{Path: "example.com/hello", Go: "1.26.0"}, cache, store.Fset())}
	packages, err := project.Packages(t.Context(), view, derive.Places(view))
	if err != nil {
		t.Fatal(err)
	}
	derive.CheckNames(packages, nil)
	planned := map[string][]byte{}
	var files []txtar.File
	said := ""
	for _, p := range packages {
		if p.Text != nil {
			planned[p.File] = p.Text
			files = append(files, txtar.File{Name: "want/" + p.File, Data: p.Text})
			if formatted, err := format.Source(p.Text); err != nil || string(formatted) != string(p.Text) {
				t.Errorf("%s is\n%s\n(%v), want it as gofmt writes it:\n%s", p.File, p.Text, err, formatted)
			}
			checkConstants(t, p)
		}
		for _, d := range p.Problems {
			said += fmt.Sprintf("problem in %s: %s\n", p.Dir, d)
		}
		for _, d := range p.Warnings {
			said += fmt.Sprintf("warning in %s: %s\n", p.Dir, d)
		}
		for _, c := range p.Components {
			for _, text := range []string{string(c.Input), string(c.Output)} {
				if _, err := schema.Compile([]byte(text)); text != "" && err != nil {
					t.Errorf("invalid schema of %s: %v\n%s", c.Name, err, text)
				}
			}
		}
	}
	view = view.With(planned)
	skipped, _ := root.ReadFile("skipped") // optional
	wired, err := project.Wire(view, strings.Fields(string(skipped)))
	if err != nil {
		t.Fatal(err)
	}
	ran, err := project.GeneratorProgram(view)
	if err != nil {
		t.Fatal(err)
	}
	if ran.Text != nil {
		wired = append(wired, ran)
	}
	for _, f := range wired {
		files = append(files, txtar.File{Name: "want/" + f.Path, Data: f.Text})
	}
	mapped := derive.MappedTypes(packages)
	for _, eventType := range slices.Sorted(maps.Keys(mapped)) {
		said += fmt.Sprintf("%s is mapped by %s\n", eventType, mapped[eventType])
	}
	return append(files, txtar.File{Name: "want", Data: []byte(said)})
}

// checkConstants checks that the constants of a derived file are the schemas of the components, and
// that no object schema is written twice.
func checkConstants(t *testing.T, p *derive.Package) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, p.File, p.Text, 0)
	if err != nil {
		t.Fatal(err)
	}
	values, literals := map[string]string{}, map[string]string{}
	config := types.Config{Error: func(error) {}} // constants need no other package
	checked, _ := config.Check("p", fset, []*ast.File{file}, nil)
	for _, name := range checked.Scope().Names() {
		if c, ok := checked.Scope().Lookup(name).(*types.Const); ok {
			values[name] = constant.StringVal(c.Val())
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok && strings.Contains(literal.Value, `"properties"`) {
				if other := literals[literal.Value]; other != "" {
					t.Errorf("%s: %s and %s are the same text, want one constant", p.File, spec.Names[0].Name, other)
				}
				literals[literal.Value] = spec.Names[0].Name
			}
		}
		return true
	})
	for _, c := range p.Components {
		for prefix, want := range map[string]string{"inputSchema": string(c.Input), "outputSchema": string(c.Output)} {
			name := prefix + strings.ReplaceAll(c.Func, ".", "_")
			if got, ok := values[name]; ok && got != want {
				t.Errorf("%s: %s = %s, want %s", p.File, name, got, want)
			}
		}
	}
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
