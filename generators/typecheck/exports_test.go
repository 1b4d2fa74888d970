package typecheck_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/typecheck"
)

// exportRoot returns a folder with a go.mod and a folder .petrock for the cache.
func exportRoot(t *testing.T, goMod string) *os.Root {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOPROXY", "off")
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "go.mod"), goMod)
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

func writeText(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func findExports(t *testing.T, c *typecheck.ExportCache, paths ...string) typecheck.Exports {
	t.Helper()
	found, err := c.Find(t.Context(), paths)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const plain = "module example.com/p\n\ngo 1.26\n"

func TestFindExports(t *testing.T) {
	c := typecheck.NewExportCache(exportRoot(t, plain))
	found := findExports(t, c, "errors", "C", "unsafe")
	file, err := found.Open("errors")
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if _, err := found.Open("example.com/none"); err == nil || !strings.Contains(err.Error(), "example.com/none") {
		t.Errorf(`open a package that was not requested: %v; want an error containing "example.com/none"`, err)
	}
	found = findExports(t, c, "errors", "example.com/none", "nonsense")
	for _, path := range []string{"example.com/none", "nonsense"} {
		if found.Has(path) || !strings.Contains(found.Reason(path), path) {
			t.Errorf("%s is found: %t, missing because: %s; want false, and a reason that names it", path, found.Has(path), found.Reason(path))
		}
	}
	if !found.Has("errors") {
		t.Errorf("errors is no longer found: %s", found.Reason("errors"))
	}
}

// markSaved changes the saved answers, so that isMarked reports whether a new cache uses them.
func markSaved(t *testing.T, root *os.Root) {
	t.Helper()
	file := filepath.Join(root.Name(), ".petrock", "cache", "exports.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, file, regexp.MustCompile(`"GOARCH":"\w+"`).ReplaceAllString(string(text), `"GOARCH":"marked"`))
}

func isMarked(t *testing.T, c *typecheck.ExportCache) bool {
	t.Helper()
	system, err := c.System(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return system.GOARCH == "marked"
}

func TestSavedAndDropped(t *testing.T) {
	in := func(root *os.Root, name string) string { return filepath.Join(root.Name(), filepath.FromSlash(name)) }
	for name, change := range map[string]func(t *testing.T, root *os.Root){
		"nothing": nil,
		"go.mod":  func(t *testing.T, root *os.Root) { writeText(t, in(root, "go.mod"), plain+"// other\n") },
		"go.sum": func(t *testing.T, root *os.Root) {
			writeText(t, in(root, "go.sum"), "example.com/x v1.0.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")
		},
		"environment": func(t *testing.T, _ *os.Root) { t.Setenv("GOFLAGS", "-tags=other") },
		"workspace":   func(t *testing.T, root *os.Root) { t.Setenv("GOWORK", "") },
		"export data": func(t *testing.T, root *os.Root) {
			file := in(root, ".petrock/cache/exports.json")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			writeText(t, file, regexp.MustCompile(`"errors":"[^"]*"`).ReplaceAllString(string(text), `"errors":"/nowhere"`))
		},
		"unreadable": func(t *testing.T, root *os.Root) { writeText(t, in(root, ".petrock/cache/exports.json"), "{") },
	} {
		t.Run(name, func(t *testing.T) {
			root := exportRoot(t, plain)
			findExports(t, typecheck.NewExportCache(root), "errors")
			markSaved(t, root)
			if change != nil {
				change(t, root)
			}
			c := typecheck.NewExportCache(root)
			if got := isMarked(t, c); got != (change == nil) {
				t.Errorf("the saved answers are used: %t, want %t", got, change == nil)
			}
			if found := findExports(t, c, "errors"); !found.Has("errors") {
				t.Errorf("errors is not found: %s", found.Reason("errors"))
			}
		})
	}
}

// A running process drops invalid answers too.
func TestDroppedWhileRunning(t *testing.T) {
	root := exportRoot(t, plain)
	c := typecheck.NewExportCache(root)
	first := findExports(t, c, "errors")
	if findExports(t, c, "errors", "strings").Edition != first.Edition {
		t.Errorf("after one more request the edition is not %v any more", first.Edition)
	}
	writeText(t, filepath.Join(root.Name(), "go.mod"), plain+"// other\n")
	if findExports(t, c, "example.com/other").Has("example.com/other") {
		t.Fatal("example.com/other, which does not exist, was found")
	}
	other := t.TempDir()
	writeText(t, filepath.Join(other, "go.mod"), "module example.com/other\n\ngo 1.26\n")
	writeText(t, filepath.Join(other, "a.go"), "package other\n\nvar A int\n")
	writeText(t, filepath.Join(root.Name(), "go.mod"), plain+"\nrequire example.com/other v0.0.0\n\nreplace example.com/other => "+other+"\n")
	found := findExports(t, c, "example.com/other")
	if !found.Has("example.com/other") {
		t.Errorf("example.com/other is not found after it was added: %s", found.Reason("example.com/other"))
	}
	if found.Edition == first.Edition {
		t.Errorf("the edition is still %v after a missing package was added, want another", found.Edition)
	}
	t.Setenv("GOFLAGS", "-tags=other")
	if now := findExports(t, c, "errors"); now.Edition == first.Edition {
		t.Errorf("the environment has changed, but the edition is still %v", now.Edition)
	}
}

// A cache answers for a planned go.mod, and keeps the answers when it is written.
func TestPlannedModules(t *testing.T) {
	root := exportRoot(t, plain)
	other := t.TempDir()
	writeText(t, filepath.Join(other, "go.mod"), "module example.com/other\n\ngo 1.26\n")
	writeText(t, filepath.Join(other, "a.go"), "package other\n\nvar A int\n")
	goMod := plain + "\nrequire example.com/other v0.0.0\n\nreplace example.com/other => " + other + "\n"
	c := typecheck.NewExportCache(root)
	c.PlanModules(map[string][]byte{"go.mod": []byte(goMod)})
	if found := findExports(t, c, "example.com/other"); !found.Has("example.com/other") {
		t.Errorf("with the planned go.mod, example.com/other is not found: %s", found.Reason("example.com/other"))
	}
	c.PlanModules(nil)
	if findExports(t, c, "example.com/other").Has("example.com/other") {
		t.Error("without the planned go.mod, example.com/other is still found")
	}
	writeText(t, filepath.Join(root.Name(), "go.mod"), goMod)
	if found := findExports(t, c, "example.com/other"); !found.Has("example.com/other") {
		t.Errorf("with the written go.mod, example.com/other is not found: %s", found.Reason("example.com/other"))
	}
}

// A module that is replaced by a folder may change at any time.
func TestReplacedModule(t *testing.T) {
	other := t.TempDir()
	writeText(t, filepath.Join(other, "go.mod"), "module example.com/other\n\ngo 1.26\n")
	writeText(t, filepath.Join(other, "a.go"), "package other\n\nvar A int\n")
	root := exportRoot(t, plain+"\nrequire example.com/other v0.0.0\n\nreplace example.com/other => "+other+"\n")
	c := typecheck.NewExportCache(root)
	first := findExports(t, c, "example.com/other", "errors")
	if !first.Has("example.com/other") {
		t.Fatal(first.Reason("example.com/other"))
	}
	if second := findExports(t, c, "example.com/other"); second.Edition != first.Edition {
		t.Errorf("without a change the edition is %v, want %v", second.Edition, first.Edition)
	}
	writeText(t, filepath.Join(other, "a.go"), "package other\n\nvar A string\n")
	if second := findExports(t, c, "errors"); second.Edition == first.Edition {
		t.Errorf("the other module has changed, but the edition is still %v", second.Edition)
	}
	text, err := root.ReadFile(".petrock/cache/exports.json")
	if err != nil || strings.Contains(string(text), "example.com/other") || !strings.Contains(string(text), `"errors"`) {
		t.Errorf("the saved answers are %s, %v; want no error, %q in it, and no example.com/other", text, err, `"errors"`)
	}
}

func TestSystem(t *testing.T) {
	root := exportRoot(t, plain)
	t.Setenv("GOOS", "windows")
	t.Setenv("GOARCH", "arm64")
	t.Setenv("CGO_ENABLED", "0")
	t.Setenv("GOFLAGS", "-tags=a,b -mod=mod")
	system, err := typecheck.NewExportCache(root).System(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := system.Context()
	if c.GOOS != "windows" || c.GOARCH != "arm64" || c.CgoEnabled || strings.Join(c.BuildTags, " ") != "a b" {
		t.Errorf("got %s, %s, cgo %t and the tags %q; want windows, arm64, false and [a b]", c.GOOS, c.GOARCH, c.CgoEnabled, c.BuildTags)
	}
	if len(c.ReleaseTags) < 26 || c.ReleaseTags[0] != "go1.1" {
		t.Errorf(`releases %v; want at least 26 release tags and ReleaseTags[0] "go1.1"`, c.ReleaseTags)
	}
	if _, err := os.Stat(filepath.Join(system.Root, "src", "fmt")); err != nil {
		t.Errorf("the standard library: %v", err)
	}
	if strings.Join(system.Flags, " ") != "-mod=readonly" {
		t.Errorf(`the flags for Go are %q, want only "-mod=readonly"`, system.Flags)
	}
}

// Without the folder .petrock nothing is saved, and nothing fails.
func TestNoCacheDir(t *testing.T) {
	root := exportRoot(t, plain)
	if err := root.Remove(".petrock"); err != nil {
		t.Fatal(err)
	}
	if found := findExports(t, typecheck.NewExportCache(root), "errors"); !found.Has("errors") {
		t.Errorf("errors is not found: %s", found.Reason("errors"))
	}
	if _, err := root.Stat(".petrock"); err == nil {
		t.Error("the cache has created the folder .petrock: err = nil, want an error")
	}
}

func TestGoCommandFails(t *testing.T) {
	root := exportRoot(t, "module\n")
	if _, err := typecheck.NewExportCache(root).Find(t.Context(), []string{"errors"}); err == nil || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf(`with a go.mod that is none: %v; want an error containing "go.mod"`, err)
	}
}

// A saved answer cannot make the go command run a program.
func TestSavedFlags(t *testing.T) {
	root := exportRoot(t, plain)
	findExports(t, typecheck.NewExportCache(root), "errors")
	file := filepath.Join(root.Name(), ".petrock/cache/exports.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const old, evil = `"Flags":null`, `"Flags":["-toolexec=false"]`
	if !strings.Contains(string(text), old) {
		t.Fatalf("the cache file is %q, want it to contain %q", text, old)
	}
	writeText(t, file, strings.Replace(string(text), old, evil, 1))
	system, err := typecheck.NewExportCache(root).System(t.Context())
	if err != nil || len(system.Flags) > 0 {
		t.Errorf("the flags are %q (%v), want none", system.Flags, err)
	}
}

// A lenient cache finds packages even if the go command cannot load the project.
func TestLenientExports(t *testing.T) {
	for file, text := range map[string]string{
		"go.mod":             "garbage\n",
		"go.work":            "garbage\n",
		"vendor/modules.txt": "# example.com/dep v1.0.0\n",
	} {
		root := exportRoot(t, plain+"\nrequire example.com/dep v1.0.0\n")
		t.Setenv("GOWORK", "")
		writeText(t, filepath.Join(root.Name(), "vendor/example.com/dep/a.go"), "package dep\n")
		writeText(t, filepath.Join(root.Name(), "vendor/modules.txt"), "# example.com/dep v1.0.0\n## explicit\nexample.com/dep\n")
		first := typecheck.NewExportCache(root)
		if found := findExports(t, first, "errors", "example.com/dep"); !found.Has("example.com/dep") {
			t.Fatalf("the vendored package is not found: %s", found.Reason("example.com/dep"))
		}
		writeText(t, filepath.Join(root.Name(), file), text)
		for _, c := range []*typecheck.ExportCache{first, typecheck.NewExportCache(root)} {
			if _, err := c.Find(t.Context(), []string{"errors", "sort"}); err == nil {
				t.Errorf("%s: Find returned no error, want one", file)
			}
			c.Start(true)
			found := findExports(t, c, "errors", "sort", "example.com/dep")
			for _, name := range []string{"errors", "sort", "example.com/dep"} {
				if !found.Has(name) {
					t.Errorf("%s: %s is not found: %s", file, name, found.Reason(name))
				}
			}
			c.Start(false)
			if _, err := c.Find(t.Context(), []string{"errors", "sort"}); err == nil {
				t.Errorf("%s: Find returned no error, want one", file)
			}
		}
	}
}
