package typecheck_test

import (
	"go/build"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/generators/typecheck"
)

// openStore writes an archive into a folder, with old modification times, and returns a store for
// it.
func openStore(t *testing.T, archive string) (*typecheck.Store, string) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		writeAt(t, dir, f.Name, string(f.Data), time.Now().Add(-time.Hour))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	system := build.Default
	system.GOOS, system.GOARCH, system.BuildTags = "linux", "amd64", []string{"extra"}
	return typecheck.NewStore(root, &system), dir
}

func writeAt(t *testing.T, dir, name, text string, at time.Time) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

func view(t *testing.T, s *typecheck.Store) *typecheck.View {
	t.Helper()
	v, err := s.View()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const two = `
-- a/a.go --
package a

import "fmt"
-- b/b.go --
package b
`

func TestUnchangedFilesAreReused(t *testing.T) {
	s, dir := openStore(t, two)
	first := view(t, s)
	second := view(t, s)
	if first.File("a/a.go") == nil {
		t.Fatal("a/a.go is not in the view")
	}
	if first.File("a/a.go") != second.File("a/a.go") {
		t.Error("a/a.go, which has not changed, was read again, want the same file")
	}
	writeAt(t, dir, "a/a.go", "package a // new\n", time.Now())
	third := view(t, s)
	if third.File("a/a.go") == first.File("a/a.go") {
		t.Error("a/a.go has changed, but was not read again")
	}
	if imports := third.File("a/a.go").Imports(); len(imports) != 0 {
		t.Errorf("the changed a/a.go imports %+v, want nothing", imports)
	}
	if third.File("b/b.go") != first.File("b/b.go") {
		t.Error("b/b.go has not changed, but was read again")
	}
	if len(first.File("a/a.go").Imports()) != 1 {
		t.Errorf("a/a.go in the earlier view has %d imports, want 1 as before", len(first.File("a/a.go").Imports()))
	}
}

// Clocks of file systems are coarse: two edits may have the same time, and the same size.
func TestEditsOfTheSameSizeAndTime(t *testing.T) {
	s, dir := openStore(t, two)
	at := time.Now()
	for _, name := range []string{"one", "two", "six"} {
		writeAt(t, dir, "a/a.go", "package a\n\nvar "+name+" int\n", at)
		if file := view(t, s).File("a/a.go"); !strings.Contains(string(file.Text), name) {
			t.Errorf("after an edit a/a.go is %q, want it to contain %q", file.Text, name)
		}
	}
}

// A file that was read just after its modification is read again, and reused if its text is the
// same.
func TestSameTextIsTheSameFile(t *testing.T) {
	s, dir := openStore(t, two)
	writeAt(t, dir, "a/a.go", "package a\n", time.Now())
	first := view(t, s).File("a/a.go")
	writeAt(t, dir, "a/a.go", "package a\n", time.Now())
	if view(t, s).File("a/a.go") != first {
		t.Error("a/a.go has the same text, but is another file")
	}
}

func TestAddedAndRemovedFiles(t *testing.T) {
	s, dir := openStore(t, two)
	view(t, s)
	writeAt(t, dir, "c/c.go", "package c\n", time.Now())
	if err := os.Remove(filepath.Join(dir, "b", "b.go")); err != nil {
		t.Fatal(err)
	}
	if dirs := view(t, s).Dirs(); !slices.Equal(dirs, []string{"a", "c"}) {
		t.Errorf("Dirs() = %q, want %q", dirs, []string{"a", "c"})
	}
}

func TestPlannedFiles(t *testing.T) {
	s, _ := openStore(t, two)
	before := view(t, s)
	planned := map[string][]byte{
		"a/a.go": []byte("package a // planned\n"), "a/z.go": []byte("package a\n"), "a/text.md": []byte("x"),
		"b/b.go": nil, "n/n.go": []byte("package n\n"), "gone/x.go": nil,
	}
	after := before.With(planned)
	if dirs := after.Dirs(); !slices.Equal(dirs, []string{"a", "n"}) {
		t.Errorf("Dirs() = %q, want %q", dirs, []string{"a", "n"})
	}
	if text := string(after.File("a/a.go").Text); text != "package a // planned\n" {
		t.Errorf(`a planned file: got %q, want "package a // planned\n"`, text)
	}
	var names []string
	for _, file := range after.Files("a") {
		names = append(names, file.Path)
	}
	if !slices.Equal(names, []string{"a/a.go", "a/z.go"}) {
		t.Errorf("names = %q, want %q", names, []string{"a/a.go", "a/z.go"})
	}
	if len(before.Files("a")) != 1 || before.File("b/b.go") == nil {
		t.Errorf("the view before the plan has %d files in a, and b/b.go: %t; want 1 and true as before", len(before.Files("a")), before.File("b/b.go") != nil)
	}
	if before.With(planned).File("a/a.go") != after.File("a/a.go") {
		t.Error("the same plan was parsed twice")
	}
	if again := after.With(map[string][]byte{"a/a.go": nil, "a/z.go": nil}); len(again.Files("a")) != 0 || slices.Contains(again.Dirs(), "a") {
		t.Errorf("a folder without files has %d files, and the folders are %q; want none, and no a", len(again.Files("a")), again.Dirs())
	}
	if view(t, s).File("a/a.go") != before.File("a/a.go") {
		t.Error("the planned a/a.go is in the view of the disk")
	}
}

// A planned file that was then written is not parsed again.
func TestPlannedThenWritten(t *testing.T) {
	s, dir := openStore(t, two)
	planned := view(t, s).With(map[string][]byte{"c/c.go": []byte("package c\n")}).File("c/c.go")
	writeAt(t, dir, "c/c.go", "package c\n", time.Now())
	if view(t, s).File("c/c.go") != planned {
		t.Errorf("after writing the planned file, c/c.go is %+v, want the planned %+v", view(t, s).File("c/c.go"), planned)
	}
}

func TestIgnoredFolders(t *testing.T) {
	s, _ := openStore(t, `
-- a.go --
package a
-- _b.go --
package b
-- .c.go --
package c
-- testdata/d.go --
package d
-- vendor/x/e.go --
package e
-- deep/vendor/f.go --
package f
-- _g/g.go --
package g
-- .h/h.go --
package h
-- other/go.mod --
module other
-- other/i.go --
package i
`)
	if dirs := view(t, s).Dirs(); !slices.Equal(dirs, []string{".", "deep/vendor"}) {
		t.Errorf("Dirs() = %q, want %q", dirs, []string{".", "deep/vendor"})
	}
	if files := view(t, s).Files("."); len(files) != 1 {
		t.Errorf("the root has %d files, want 1", len(files))
	}
}

func TestPackages(t *testing.T) {
	s, _ := openStore(t, `
-- p/a.go --
package p
-- p/a_test.go --
package p
-- p/x_test.go --
package p_test
-- p/w_windows.go --
package p
-- p/l_linux.go --
package p
-- p/tagged.go --
//go:build extra

package p
-- p/ignored.go --
//go:build ignore

package main
-- p/new_go.go --
//go:build go1.999

package p
-- p/p_gen.go --
// Code generated by petrock from something. DO NOT EDIT.

package p
-- broken/a.go --
package
`)
	v := view(t, s)
	list := func(files []*typecheck.File) string {
		var names []string
		for _, f := range files {
			names = append(names, filepath.Base(f.Path))
		}
		return strings.Join(names, " ")
	}
	p := v.Package("p", nil)
	if p.Name != "p" || list(p.Files) != "a.go l_linux.go p_gen.go tagged.go" || list(p.Internal) != "a_test.go" || list(p.External) != "x_test.go" {
		t.Errorf(`the package %s has the files %s; internal tests %s; external tests %s; want p, "a.go l_linux.go p_gen.go tagged.go", "a_test.go" and "x_test.go"`, p.Name, list(p.Files), list(p.Internal), list(p.External))
	}
	if p := v.Package("p", (*typecheck.File).IsDerived); list(p.Files) != "a.go l_linux.go tagged.go" {
		t.Errorf(`without derived files: got %q, want "a.go l_linux.go tagged.go"`, list(p.Files))
	}
	if v.Package("nowhere", nil) != nil {
		t.Errorf("a package that does not exist: got %+v, want nil", v.Package("nowhere", nil))
	}
	if p := v.Package("broken", nil); p == nil || p.Files[0].Err == nil {
		t.Error("a file that does not parse: err = nil, want an error")
	}
}

func TestIsDerived(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"a_gen.go", typecheck.DerivedMark + " from x. DO NOT EDIT.", true},
		{"a_gen.go", "// Code generated by protoc", false},
		{"a_gen.go", "", false},
		{"a.go", typecheck.DerivedMark + " from x. DO NOT EDIT.", false},
	} {
		if got := typecheck.IsDerived(c.name, []byte(c.text)); got != c.want {
			t.Errorf("%s: got %v, want %v (text %q)", c.name, got, c.want, c.text)
		}
	}
}

func TestNeedsCompiler(t *testing.T) {
	for text, want := range map[string]bool{
		"func F() {}":        false,
		"func F()":           true,
		"import \"C\"":       true,
		"//go:generate true": false,
		"//go:generate true\n\n//go:noinline\nfunc F() {}": true,
		"//go:get x":                                     true,
		"//line x.go:1":                                  true,
		"var s = `\n// go:noinline\n`":                   false,
		"func TestMain(m *testing.M) {}":                 false,
		"func TestF(t *testing.T) {}":                    false,
		"func TestF(b *testing.B) {}":                    true,
		"func BenchmarkF(b *testing.B) {}":               false,
		"func BenchmarkF(b *testing.B) int { return 1 }": true,
		"func FuzzF(f *testing.F) {}":                    false,
		"func FuzzF(t *testing.T) {}":                    true,
		"func (S) FuzzF() {}":                            false,
	} {
		s, _ := openStore(t, "-- a/a_test.go --\npackage a\n\n"+text+"\n")
		if got := view(t, s).File("a/a_test.go").NeedsCompiler(); got != want {
			t.Errorf("NeedsCompiler() of %q = %t, want %t", text, got, want)
		}
	}
}
