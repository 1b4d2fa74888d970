package core_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A tree is the repository that the rules check, read and parsed.
type tree struct {
	module string // its path, from go.mod
	fset   *token.FileSet
	goMod  []string // the lines of go.mod, without comments
	top    []string // the names at the root
	files  []*goFile
}

// A goFile is one Go file. Its syntax is nil if it does not parse, which the rule gofmt reports;
// the other rules skip such a file.
type goFile struct {
	path   string // from the root, with slashes
	src    []byte
	fset   *token.FileSet
	syntax *ast.File
	err    error // why it does not parse
}

// readTree reads all Go files below the root of fsys, but for those in dot folders.
func readTree(fsys fs.FS) (tree, error) {
	t := tree{fset: token.NewFileSet()}
	goMod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return t, err
	}
	for line := range strings.Lines(string(goMod)) {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimSpace(line)
		t.goMod = append(t.goMod, line)
		if name, ok := strings.CutPrefix(line, "module "); ok {
			t.module = name
		}
	}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case !strings.Contains(name, "/"):
			t.top = append(t.top, name)
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		f := &goFile{path: name, fset: t.fset}
		if f.src, err = fs.ReadFile(fsys, name); err != nil {
			return err
		}
		syntax, err := parser.ParseFile(f.fset, name, f.src, parser.ParseComments|parser.SkipObjectResolution)
		if f.err = err; err == nil {
			f.syntax = syntax
		}
		t.files = append(t.files, f)
		return nil
	})
	return t, err
}

// sources are the files that end up in programs: no tests, nothing from testdata.
func (t tree) sources() []*goFile {
	return slices.DeleteFunc(slices.Clone(t.files), func(f *goFile) bool {
		return f.syntax == nil || f.isTest() || f.isTestdata()
	})
}

// tests are the test files.
func (t tree) tests() []*goFile {
	return slices.DeleteFunc(slices.Clone(t.files), func(f *goFile) bool {
		return f.syntax == nil || !f.isTest() || f.isTestdata()
	})
}

// ours returns the folder of an imported package, if it is one of this module.
func (t tree) ours(imported string) (dir string, ok bool) {
	if imported == t.module {
		return ".", true
	}
	return strings.CutPrefix(imported, t.module+"/")
}

func (f *goFile) dir() string { return path.Dir(f.path) }

func (f *goFile) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f *goFile) isTestdata() bool { return f.below("testdata") }

// below reports whether one of the folders that f is in has this name.
func (f *goFile) below(name string) bool {
	return slices.Contains(strings.Split(f.dir(), "/"), name)
}

// at returns a message about a position in f.
func (f *goFile) at(pos token.Pos, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: ", f.path, f.fset.Position(pos).Line) + fmt.Sprintf(format, args...)
}

// An imported is one import of a file.
type imported struct {
	path string
	pos  token.Pos
}

func (f *goFile) imports() []imported {
	var all []imported
	for _, spec := range f.syntax.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			all = append(all, imported{name, spec.Pos()})
		}
	}
	return all
}

// findRoot is the folder of go.mod, at or above the working directory.
func findRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod in the working directory or above it")
		}
		dir = up
	}
}

// gitTopLevel returns the names at the root that git tracks, so that untracked files do not matter.
// It returns nil if git fails.
func gitTopLevel(root string) []string {
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		return nil
	}
	out, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		return nil
	}
	var top []string
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name, _, _ = strings.Cut(name, "/"); name != "" && !slices.Contains(top, name) {
			top = append(top, name)
		}
	}
	return top
}
