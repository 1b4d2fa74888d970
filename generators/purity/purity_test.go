package purity_test

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/generators/purity"
	"github.com/petrock/petrock/generators/typecheck"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// Each archive is a module with features. Its file want is the expected report.
func TestPurity(t *testing.T) {
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
			var given []txtar.File
			want := ""
			for _, f := range archive.Files {
				if f.Name == "want" {
					want = string(f.Data)
					continue
				}
				given = append(given, f)
				name := filepath.Join(dir, filepath.FromSlash(f.Name))
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, f.Data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got := findImpure(t, dir)
			if got == want {
				return
			}
			if !*update {
				t.Fatalf("got\n%s\nwant\n%s\n(-update writes it down)", got, want)
			}
			archive.Files = append(given, txtar.File{Name: "want", Data: []byte(got)})
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// findImpure returns the report on all features of a project.
func findImpure(t *testing.T, dir string) string {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
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
	var features []string
	for _, dir := range view.Dirs() {
		if path.Dir(dir) == "features" {
			features = append(features, dir)
		}
	}
	checker := typecheck.NewChecker(typecheck.Module{Path: "example.com/hello", Go: "1.26.0"}, cache, store.Fset())
	report, err := purity.Find(t.Context(), checker, "example.com/hello/core", view, features)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, d := range report.Impure {
		fmt.Fprintln(&out, d)
	}
	for _, d := range report.Warnings {
		fmt.Fprintf(&out, "warning: %s\n", d)
	}
	return out.String()
}
