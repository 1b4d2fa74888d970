package derive_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// A home is a folder of this repository with packages that have derived files.
type home struct{ dir, module, name string }

// homes returns the folders of the generators, the dev server, and the skeleton with its examples.
func homes() []home {
	return []home{
		{".", petrock, "petrock"},
		{"skeleton/base", petrock + "/skeleton/base", "server"},
		{"skeleton/example/everything", petrock + "/skeleton/example/everything", "everything"},
		{"skeleton/example/tasks", petrock + "/skeleton/example/tasks", "tasks"},
		{"skeleton/example/moonphase", petrock + "/skeleton/example/moonphase", "moonphase"},
	}
}

// openHome opens a folder to derive from.
func openHome(t *testing.T, dir string, h home, core string) (derive.Project, *typecheck.View) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
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
	checker := typecheck.NewChecker(typecheck.Module{Path: h.module, Go: "1.26.0"}, cache, store.Fset())
	return derive.Project{Name: h.name, Core: core, Checker: checker}, view
}

// deriveHome derives from the packages in a folder.
func deriveHome(t *testing.T, dir string, h home, core string) []*derive.Package {
	t.Helper()
	project, view := openHome(t, dir, h, core)
	var places []derive.Place
	all := derive.Places(view)
	if h.module == petrock {
		all = []derive.Place{{Dir: "generators", Kind: derive.Generator}, {Dir: "generators/versions", Kind: derive.Generator}, {Dir: "generators/devserver", Kind: derive.Tool}}
	}
	for _, place := range all {
		if len(view.Files(place.Dir)) > 0 {
			places = append(places, place)
		}
	}
	packages, err := project.Packages(t.Context(), view, places)
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// The derived files of this repository are up to date.
func TestOursAreFresh(t *testing.T) {
	for _, home := range homes() {
		dir, err := filepath.Abs(filepath.Join("../..", home.dir))
		if err != nil {
			t.Fatal(err)
		}
		var files []gen.File
		packages := deriveHome(t, dir, home, petrock+"/core")
		for _, pkg := range packages {
			for _, d := range append(pkg.Problems, pkg.Warnings...) {
				if path.Base(d.File) == "answer.go" && strings.Contains(d.Message, " has no comment") {
					continue // the instructions of the dev server explain what its tools share
				}
				t.Errorf("%s", d)
			}
			if pkg.Text != nil {
				files = append(files, gen.File{Path: pkg.File, Text: pkg.Text})
			}
		}
		if home.name == "server" {
			project, view := openHome(t, dir, home, petrock+"/core")
			wired, err := project.Wire(view, nil)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, wired...)
		}
		if home.name != "petrock" {
			promised, err := derive.Contract(packages)
			if err != nil {
				t.Fatal(err)
			}
			text, err := promised.Encode()
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, gen.File{Path: contract.File, Text: text})
		}
		for _, file := range files {
			path := filepath.Join(dir, file.Path)
			if now, _ := os.ReadFile(path); string(now) == string(file.Text) {
				continue
			}
			if !*update {
				t.Errorf("%s is stale; run go test ./generators/derive -run OursAreFresh -update", path)
				continue
			}
			write(t, path, file.Text)
		}
	}
}
