package parts_test

import (
	"flag"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/petrock/petrock/generators/parts"
)

var update = flag.Bool("update", false, "write files that are derived from the parts")

// repository is the folder of this repository, and home its module.
const (
	repository = "../.."
	home       = "github.com/petrock/petrock"
)

// code returns the files of a part in petrock's own repository, without tests.
func code(t testing.TB, part parts.Part) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, folder := range part.Folders {
		err := fs.WalkDir(os.DirFS(repository), folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !part.Holds(name) || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/testdata/") {
				return err
			}
			files[name], err = os.ReadFile(filepath.Join(repository, name))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// Code that every project has imports no part. A part imports only those that it needs.
func TestPartsAreOptional(t *testing.T) {
	for _, tree := range []string{"core", "generators"} {
		err := fs.WalkDir(os.DirFS(repository), tree, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/testdata/") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(repository, name), nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, spec := range file.Imports {
				imported, _ := strconv.Unquote(spec.Path.Value)
				for _, part := range parts.All() {
					if isNeeded := slices.ContainsFunc(parts.All(), func(p parts.Part) bool { return p.Holds(name) && slices.Contains(p.Needs, part.Name) }); isNeeded {
						continue
					}
					if name != parts.Linked && !part.Holds(name) && part.IsUsedBy("", home, []string{imported}) {
						t.Errorf("%s imports %s, which is in the part %s", name, imported, part.Name)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Unpacking an archive gives the packed bytes, with imports rewritten for another module. Packing
// those and unpacking them for the first module gives the original bytes.
func TestPack(t *testing.T) {
	if !slices.IsSorted(parts.Names()) {
		t.Errorf("the parts are %q, want them sorted", parts.Names())
	}
	for _, part := range parts.All() {
		want := code(t, part)
		if len(want) == 0 {
			t.Fatalf("%s has no files, want some", part.Name)
		}
		archive := part.Pack(home, want)
		for _, module := range []string{home, "hello", "zz.example.com/deep/hello/v2"} {
			moved, err := part.Unpack(module, archive)
			if err != nil {
				t.Fatal(err)
			}
			if module != home && strings.Contains(string(moved[part.Folders[0]+"/"+path.Base(part.Folders[0])+".go"]), `"`+home+"/") {
				t.Errorf("%s: an import path of %s is left", part.Name, home)
			}
			again, err := part.Unpack(home, part.Pack(module, moved))
			if err != nil {
				t.Fatal(err)
			}
			if names := differing(again, want); len(names) > 0 {
				t.Errorf("%s: after packing in %s these files differ: %q", part.Name, module, names)
			}
		}
		crlf := strings.ReplaceAll(string(archive), "\n", "\r\n")
		if got, err := part.Unpack(home, []byte(crlf)); err != nil {
			t.Errorf("%s with line endings of Windows: %v", part.Name, err)
		} else if names := differing(got, want); len(names) > 0 {
			t.Errorf("%s with line endings of Windows: these files differ: %q", part.Name, names)
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	part, _ := parts.Find("oauth")
	for name, test := range map[string]struct{ text, says string }{
		"nothing":         {"", "not an archive of a part"},
		"no module":       {"-- core/auth/oauth/a.go --\npackage oauth\n", "not an archive of a part"},
		"no files":        {"module hello\n", "not an archive of a part"},
		"other folder":    {"module hello\n-- core/mcp/a.go --\npackage mcp\n", "core/mcp/a.go does not belong"},
		"outside":         {"module hello\n-- core/auth/oauth/../../../../a.go --\npackage a\n", "does not belong"},
		"absolute":        {"module hello\n-- /core/auth/oauth/a.go --\npackage a\n", "does not belong"},
		"does not parse":  {"module hello\n-- core/auth/oauth/a.go --\nimport (\n", "core/auth/oauth/a.go"},
		"conflict marker": {"module hello\n-- core/auth/oauth/a.go --\n<<<<<<< HEAD\npackage a\n", "core/auth/oauth/a.go"},
	} {
		if _, err := part.Unpack("hello", []byte(test.text)); err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), part.Archive()) {
			t.Errorf("%s: %v, want %q in it", name, err, test.says)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	for _, part := range parts.All() {
		f.Add(part.Pack(home, code(f, part)))
	}
	f.Add([]byte("module hello\n-- core/app/a.go --\npackage a\n\nimport \"hello/core/mcp\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, part := range parts.All() {
			files, err := part.Unpack("example.com/other", text)
			if err != nil {
				continue
			}
			for name := range files {
				if !fs.ValidPath(name) || !part.Holds(name) {
					t.Errorf("%s unpacks %q; want fs.ValidPath(name) and part.Holds(name)", part.Name, name)
				}
			}
		}
	})
}

// combinations returns all sets of parts that have the parts that they need.
func combinations() [][]string {
	all := [][]string{nil}
	for _, name := range parts.Names() {
		for _, names := range slices.Clone(all) {
			all = append(all, append(slices.Clone(names), name))
		}
	}
	return slices.DeleteFunc(all, func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			part, _ := parts.Find(name)
			return slices.ContainsFunc(part.Needs, func(need string) bool { return !slices.Contains(names, need) })
		})
	})
}

// newModules returns the go.mod and go.sum of a new project with parts.
func newModules(t *testing.T, names []string) (goMod, goSum []byte) {
	t.Helper()
	goMod, goSum, ok, err := parts.ChangeModules([]byte("module example.com/hello\n\ngo 1.26.0\n"), nil, nil, names, nil)
	if err != nil || !ok {
		t.Fatalf("got %t, %v; want true and no error", ok, err)
	}
	return goMod, goSum
}

// After adding and removing parts in any order, go.mod and go.sum equal those of a new project.
func TestChangeModules(t *testing.T) {
	for _, from := range combinations() {
		goMod, goSum := newModules(t, from)
		for _, to := range combinations() {
			wantMod, wantSum := newModules(t, to)
			gotMod, gotSum, ok, err := parts.ChangeModules(goMod, goSum, from, to, nil)
			if err != nil || !ok {
				t.Errorf("from %q to %q: got %t, %v; want true and no error", from, to, ok, err)
			}
			if string(gotMod) != string(wantMod) {
				t.Errorf("from %q to %q: go.mod is\n%s\nwant\n%s", from, to, gotMod, wantMod)
			}
			if string(gotSum) != string(wantSum) {
				t.Errorf("from %q to %q: go.sum is\n%s\nwant\n%s", from, to, gotSum, wantSum)
			}
		}
	}
}

// An edited go.mod keeps the user's requirements. In doubt, go mod tidy decides.
func TestChangeEditedModules(t *testing.T) {
	plainMod, plainSum := newModules(t, nil)
	const own = "\nrequire (\n\texample.com/own v1.0.0\n\tmodernc.org/libc v1.77.1\n)\n"
	goMod, goSum, ok, err := parts.ChangeModules(append(plainMod, own...), append(plainSum, "example.com/own v1.0.0 h1:x\n"...), nil, []string{"app"}, nil)
	if err != nil || !ok || !strings.Contains(string(goMod), "example.com/own v1.0.0") || !strings.Contains(string(goSum), "example.com/own v1.0.0 h1:x\n") {
		t.Fatalf("got %t, %v; want true, no error, and example.com/own v1.0.0 in both of\n%s\n%s", ok, err, goMod, goSum)
	}
	parsed, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"modernc.org/sqlite", "modernc.org/libc"} {
		if !slices.ContainsFunc(parsed.Require, func(r *modfile.Require) bool { return r.Mod.Path == name && !r.Indirect }) {
			t.Errorf("%s is not required directly:\n%s", name, goMod)
		}
	}
	if _, _, ok, err := parts.ChangeModules(goMod, goSum, []string{"app"}, nil, nil); ok || err != nil {
		t.Errorf("ChangeModules decides without go mod tidy: %t, %v; want false: example.com/own may need the modules", ok, err)
	}
	appMod, appSum := newModules(t, []string{"app"})
	if _, _, ok, err := parts.ChangeModules(appMod, appSum, []string{"app"}, nil, []string{"fmt", "modernc.org/libc/errno"}); ok || err != nil {
		t.Errorf("ChangeModules decides without go mod tidy: %t, %v; want false: the project imports modernc.org/libc", ok, err)
	}
	for _, line := range []string{"\nrequire modernc.org/sqlite v1.20.0\n", "\nrequire modernc.org/libc v1.1.0 // indirect\n"} {
		if _, _, ok, err := parts.ChangeModules(append(slices.Clone(plainMod), line...), plainSum, nil, []string{"app"}, nil); ok || err != nil {
			t.Errorf("with%s ChangeModules decides without go mod tidy: %t, %v; want false", line, ok, err)
		}
	}
	if _, _, _, err := parts.ChangeModules([]byte("module"), nil, nil, []string{"app"}, nil); err == nil || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf(`invalid go.mod: %v; want an error containing "go.mod"`, err)
	}
}

// The result of go mod tidy applies to modules of parts. Unused requirements of the user stay, and
// new ones that no part needs are ignored.
func TestMergeTidied(t *testing.T) {
	goMod, goSum := newModules(t, []string{"app"})
	tidyMod, tidySum := newModules(t, nil)
	goMod = append(goMod, "\nrequire example.com/own v1.0.0\n"...)
	goSum = append(goSum, "example.com/own v1.0.0 h1:x\n"...)
	tidyMod = append(tidyMod, "\nrequire (\n\texample.com/new v1.0.0\n\tgithub.com/google/uuid v1.6.0\n)\n"...)
	gotMod, gotSum, err := parts.MergeTidied(goMod, goSum, tidyMod, tidySum, []string{"app"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"example.com/own v1.0.0": true, "github.com/google/uuid v1.6.0": true, "example.com/new": false, "modernc.org/sqlite": false, "modernc.org/libc": false} {
		if got := strings.Contains(string(gotMod), text); got != want {
			t.Errorf("%s is required: %t, want %t:\n%s", text, got, want, gotMod)
		}
	}
	if !strings.Contains(string(gotSum), "example.com/own v1.0.0 h1:x\n") || strings.Contains(string(gotSum), "modernc.org/sqlite v") {
		t.Errorf("go.sum is\n%s; want %q in it, and no modernc.org/sqlite", gotSum, "example.com/own v1.0.0 h1:x\n")
	}
}

// differing returns the names of the files that differ.
func differing(got, want map[string][]byte) []string {
	var names []string
	for name := range want {
		if text, ok := got[name]; !ok || string(text) != string(want[name]) {
			names = append(names, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// This repository links the generators of all parts; a project without parts has petrock's alone.
func TestLinked(t *testing.T) {
	text, err := parts.LinkedText(home, parts.Names())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(repository, parts.Linked)
	if now, _ := os.ReadFile(file); string(now) != string(text) {
		if !*update {
			t.Fatalf("%s is stale; run go test ./generators/parts -run Linked -update", parts.Linked)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err = parts.LinkedText(home, nil); err != nil || strings.Contains(string(text), "versions") {
		t.Errorf("without parts: %v\n%s", err, text)
	}
}
