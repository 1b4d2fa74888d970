package derive_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/exports"
	"github.com/petrock/petrock/generators/source"
	"github.com/petrock/petrock/generators/typing"
)

// The derived files of this repository, which new projects get, are as they would be derived
// today: those of the generators, of the workshop, and of the skeleton with its examples.
func TestOursAreFresh(t *testing.T) {
	module := "github.com/petrock/petrock"
	for _, home := range []struct {
		dir, module, name string
	}{
		{"../..", module, "petrock"},
		{"../../skeleton/base", module + "/skeleton/base", "server"},
		{"../../skeleton/example/everything", module + "/skeleton/example/everything", "everything"},
		{"../../skeleton/example/tasks", module + "/skeleton/example/tasks", "tasks"},
		{"../../skeleton/example/moonphase", module + "/skeleton/example/moonphase", "moonphase"},
	} {
		dir, err := filepath.Abs(home.dir)
		if err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		cache := exports.New(root)
		system, err := cache.System(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		store := source.NewStore(root, system.Context())
		view, err := store.View()
		if err != nil {
			t.Fatal(err)
		}
		checker := typing.NewChecker(typing.Module{Path: home.module, Go: "1.26.0"}, cache, store.Fset())
		project := derive.Project{Name: home.name, Core: module + "/core", Checker: checker}
		var places []derive.Place
		for _, place := range derive.Places(view) {
			if len(view.Files(place.Dir)) > 0 {
				places = append(places, place)
			}
		}
		packages, err := project.Packages(t.Context(), view, places)
		if err != nil {
			t.Fatal(err)
		}
		var files []derive.File
		for _, pkg := range packages {
			for _, d := range append(pkg.Problems, pkg.Warnings...) {
				t.Errorf("%s", d)
			}
			if pkg.Text != nil {
				files = append(files, derive.File{Path: pkg.File, Text: pkg.Text})
			}
		}
		if home.name == "server" {
			wired, err := project.Wire(view)
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
			files = append(files, derive.File{Path: contract.File, Text: text})
		}
		for _, file := range files {
			path := filepath.Join(dir, file.Path)
			if now, _ := os.ReadFile(path); string(now) == string(file.Text) {
				continue
			}
			if !*update {
				t.Errorf("%s is stale; go test ./generators/derive -run OursAreFresh -update", path)
				continue
			}
			write(t, path, file.Text)
		}
	}
}
