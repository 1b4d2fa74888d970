package exports_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/exports"
)

// project is a folder with a go.mod and a place for what is kept.
func project(t *testing.T, goMod string) *os.Root {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOPROXY", "off")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), goMod)
	if err := os.Mkdir(filepath.Join(dir, ".petrock"), 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func find(t *testing.T, c *exports.Cache, paths ...string) exports.Found {
	t.Helper()
	found, err := c.Find(t.Context(), paths)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const plain = "module example.com/p\n\ngo 1.26\n"

func TestFind(t *testing.T) {
	c := exports.New(project(t, plain))
	found := find(t, c, "errors", "C", "unsafe")
	file, err := found.Open("errors")
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if _, err := found.Open("example.com/none"); err == nil || !strings.Contains(err.Error(), "example.com/none") {
		t.Errorf("a package that nobody asked for: %v", err)
	}
	found = find(t, c, "errors", "example.com/none", "nonsense")
	for _, path := range []string{"example.com/none", "nonsense"} {
		if found.Has(path) || !strings.Contains(found.Why(path), path) {
			t.Errorf("%s is missing because: %s", path, found.Why(path))
		}
	}
	if !found.Has("errors") {
		t.Error("errors is forgotten")
	}
}

// mark changes what is kept, so that marked tells whether a new cache goes by it.
func mark(t *testing.T, root *os.Root) {
	t.Helper()
	file := filepath.Join(root.Name(), ".petrock", "cache", "exports.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, regexp.MustCompile(`"GOARCH":"\w+"`).ReplaceAllString(string(text), `"GOARCH":"marked"`))
}

func marked(t *testing.T, c *exports.Cache) bool {
	t.Helper()
	system, err := c.System(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return system.GOARCH == "marked"
}

func TestKeptAndDropped(t *testing.T) {
	in := func(root *os.Root, name string) string { return filepath.Join(root.Name(), filepath.FromSlash(name)) }
	for name, change := range map[string]func(t *testing.T, root *os.Root){
		"nothing": nil,
		"go.mod":  func(t *testing.T, root *os.Root) { write(t, in(root, "go.mod"), plain+"// other\n") },
		"go.sum": func(t *testing.T, root *os.Root) {
			write(t, in(root, "go.sum"), "example.com/x v1.0.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")
		},
		"environment": func(t *testing.T, _ *os.Root) { t.Setenv("GOFLAGS", "-tags=other") },
		"workspace":   func(t *testing.T, root *os.Root) { t.Setenv("GOWORK", "") },
		"export data": func(t *testing.T, root *os.Root) {
			file := in(root, ".petrock/cache/exports.json")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			write(t, file, regexp.MustCompile(`"errors":"[^"]*"`).ReplaceAllString(string(text), `"errors":"/nowhere"`))
		},
		"unreadable": func(t *testing.T, root *os.Root) { write(t, in(root, ".petrock/cache/exports.json"), "{") },
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t, plain)
			find(t, exports.New(root), "errors")
			mark(t, root)
			if change != nil {
				change(t, root)
			}
			c := exports.New(root)
			if got := marked(t, c); got != (change == nil) {
				t.Errorf("what is kept is used: %v", got)
			}
			if !find(t, c, "errors").Has("errors") {
				t.Error("errors is missing")
			}
		})
	}
}

// A process that is running notices the same.
func TestDroppedWhileRunning(t *testing.T) {
	root := project(t, plain)
	c := exports.New(root)
	first := find(t, c, "errors")
	if find(t, c, "errors", "strings").Edition != first.Edition {
		t.Error("one more question, and what was read cannot be used any more")
	}
	state := c.State()
	write(t, filepath.Join(root.Name(), "go.mod"), plain+"// other\n")
	if find(t, c, "errors").Edition == first.Edition {
		t.Error("go.mod has changed, and what was read before is used all the same")
	}
	if c.State() == state {
		t.Error("go.mod has changed, and the state is the same")
	}
}

// A module that is replaced by a folder may change at any time.
func TestReplacedModule(t *testing.T) {
	other := t.TempDir()
	write(t, filepath.Join(other, "go.mod"), "module example.com/other\n\ngo 1.26\n")
	write(t, filepath.Join(other, "a.go"), "package other\n\nvar A int\n")
	root := project(t, plain+"\nrequire example.com/other v0.0.0\n\nreplace example.com/other => "+other+"\n")
	c := exports.New(root)
	first := find(t, c, "example.com/other", "errors")
	if !first.Has("example.com/other") {
		t.Fatal(first.Why("example.com/other"))
	}
	if second := find(t, c, "example.com/other"); second.Edition != first.Edition {
		t.Error("nothing has changed, and all has to be read again")
	}
	write(t, filepath.Join(other, "a.go"), "package other\n\nvar A string\n")
	if second := find(t, c, "errors"); second.Edition == first.Edition {
		t.Error("the other module has changed, and what was read of it is used all the same")
	}
	text, err := root.ReadFile(".petrock/cache/exports.json")
	if err != nil || strings.Contains(string(text), "example.com/other") || !strings.Contains(string(text), `"errors"`) {
		t.Errorf("what is kept: %v\n%s", err, text)
	}
}

func TestSystem(t *testing.T) {
	root := project(t, plain)
	t.Setenv("GOOS", "windows")
	t.Setenv("GOARCH", "arm64")
	t.Setenv("CGO_ENABLED", "0")
	t.Setenv("GOFLAGS", "-tags=a,b -mod=mod")
	system, err := exports.New(root).System(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := system.Context()
	if c.GOOS != "windows" || c.GOARCH != "arm64" || c.CgoEnabled || strings.Join(c.BuildTags, " ") != "a b" {
		t.Errorf("%+v", system)
	}
	if len(c.ReleaseTags) < 26 || c.ReleaseTags[0] != "go1.1" {
		t.Errorf("releases %v", c.ReleaseTags)
	}
	if _, err := os.Stat(filepath.Join(system.Root, "src", "fmt")); err != nil {
		t.Errorf("the standard library: %v", err)
	}
	if strings.Join(system.Flags, " ") != "-mod=readonly" {
		t.Errorf("Go is given %v, and would write to go.mod", system.Flags)
	}
}

// Without a place for it nothing is kept, and nothing goes wrong.
func TestNoPlace(t *testing.T) {
	root := project(t, plain)
	if err := root.Remove(".petrock"); err != nil {
		t.Fatal(err)
	}
	if !find(t, exports.New(root), "errors").Has("errors") {
		t.Error("errors is missing")
	}
	if _, err := root.Stat(".petrock"); err == nil {
		t.Error("it has made a place for itself")
	}
}

func TestGoDoesNotWork(t *testing.T) {
	root := project(t, "module\n")
	if _, err := exports.New(root).Find(t.Context(), []string{"errors"}); err == nil || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("with a go.mod that is none: %v", err)
	}
}
