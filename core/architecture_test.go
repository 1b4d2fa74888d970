// The tests in this folder check the whole repository: in this file, who imports whom and what is
// where; in the others, what source files contain and where links in documentation lead.
package core_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/modfile"
)

const (
	root   = ".." // the folder of go.mod, from this one
	module = "github.com/petrock/petrock"
	cobra  = "github.com/spf13/cobra"
)

// mayImport says which packages those of a folder may import in addition to the standard library:
// those of the listed folders and modules, and each other. A row applies to the packages below its
// folder too, except those that have a row of their own.
var mayImport = map[string][]string{
	"core":                 {}, // a new folder needs a row
	"core/internal":        {"core/civil", "core/plumbing/jsonfield", "core/strictjson"},
	"core/strictjson":      {"core/internal", "core/plumbing/jsonfield"},
	"core/stdfd":           {},
	"core/civil":           {},
	"core/schema":          {"core/internal"},
	"core/jsonrpc":         {"core/internal", "core/strictjson"},
	"core/plumbing":        {"core/internal", "core/jsonrpc", "core/schema", "core/stdfd", "core/strictjson"},
	"core/plumbing/mcpcli": {"core/client", "core/internal", "core/jsonrpc", "core/mcp", "core/plumbing", "core/schema", "core/strictjson", cobra},
	"core/auth":            {},
	"core/auth/token":      {"core/auth", "github.com/go-jose/go-jose/v4"},
	"core/auth/oauth":      {"core/auth", "core/mcp", "core/plumbing", cobra},
	"core/mcp":             {"core/auth", "core/internal", "core/jsonrpc", "core/plumbing", "core/stdfd", "core/strictjson"},
	"core/mcphttp":         {"core/auth", "core/jsonrpc", "core/mcp", "core/plumbing", "core/strictjson"},
	"core/client":          {"core/internal", "core/jsonrpc", "core/mcp", "core/plumbing", "core/strictjson"},
	"core/mcptest":         {"core/auth", "core/client", "core/mcp", "core/schema", "core/strictjson"},
	"core/serve":           {"core/auth", "core/client", "core/mcp", "core/mcphttp", "core/plumbing", "core/stdfd", cobra},

	// Features know nothing of MCP, a store knows nothing of features, and it is linked only if a
	// server uses it.
	"core/app/eventlog":  {"core/strictjson"},
	"core/app/internal":  {"core/app/eventlog", "core/plumbing/jsonfield", "core/strictjson"},
	"core/app/storetest": {"core/app/eventlog"},
	"core/app/sqlite":    {"core/app/eventlog", "core/app/internal", "core/plumbing/filelock", "modernc.org/sqlite"},
	"core/app/postgres":  {"core/app/eventlog", "core/app/internal", "github.com/jackc/pgx/v5"},
	"core/app":           {"core/app/eventlog", "core/app/internal", "core/strictjson"},
	"core/app/appmcp":    {"core/app", "core/auth", "core/jsonrpc", "core/mcp", "core/plumbing", "core/strictjson"},
	"core/app/appserve":  {"core/app", "core/client", "core/mcp", "core/plumbing", "core/strictjson", cobra},
	"core/app/apptest":   {"core/app", "core/auth", "core/mcp", "core/mcptest"},

	"generators":          {"core", "generators", "github.com/dave/jennifer", "golang.org/x"},
	"generators/cli":      {"core", "generators", cobra},
	"generators/docs":     {},
	"generators/contract": {"core"},
	"generators/journal":  {"core/plumbing", "github.com/rogpeppe/go-internal/diff"},
	"generators/gen":      {"core", "generators/contract", "github.com/dave/jennifer"},

	// The project's own petrock must build while the rest of the project does not. MCP clients wait
	// for its first build.
	"skeleton/base/cmd/petrock": {"generators/launch"},
	"generators/launch":         {"core/jsonrpc", "core/plumbing", "generators/handover", "generators/live"},
	"generators/handover":       {"core/plumbing"},
	"generators/live":           {"core/jsonrpc", "core/plumbing", "core/strictjson", "generators/docs", "github.com/fsnotify/fsnotify"},

	"skeleton":  {"core", "skeleton"},
	"templates": {},
	"cmd":       {"cmd", "core", "generators", "skeleton", "templates", cobra, "github.com/BurntSushi/toml", "golang.org/x"},
}

func TestImports(t *testing.T) {
	for _, p := range repository(t) {
		for _, imported := range p.Imports {
			if !isAllowed(p.folder, imported) {
				t.Errorf("%v: %s must not import %s: move what you need further down, hand it in as a value, or change mayImport",
					p.ImportPos[imported][0], p.folder, imported)
			}
		}
	}
}

// isAllowed reports whether mayImport lets a folder's package import another.
func isAllowed(folder, imported string) bool {
	imported, isOurs := strings.CutPrefix(imported, module+"/")
	first, _, _ := strings.Cut(imported, "/")
	if !isOurs && !strings.Contains(first, ".") && imported != "C" {
		return true // the standard library
	}
	row := rowOf(folder)
	return row != "" && row == rowOf(imported) ||
		slices.ContainsFunc(mayImport[row], func(allowed string) bool { return isBelow(imported, allowed) })
}

// rowOf returns the key of the row of mayImport for a folder; empty if it has none.
func rowOf(folder string) string {
	for ; folder != "."; folder = path.Dir(folder) {
		if _, ok := mayImport[folder]; ok {
			return folder
		}
	}
	return ""
}

func isBelow(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

// The tests of core pass without the packages above it.
func TestTestsOfCoreStayInCore(t *testing.T) {
	for _, p := range repository(t) {
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			folder, isOurs := strings.CutPrefix(imported, module+"/")
			if isBelow(p.folder, "core") && isOurs && !isBelow(folder, "core") {
				t.Errorf("a test of %s imports %s: move the test there", p.folder, folder)
			}
		}
	}
}

// listedPackage matches an entry of the list of packages in a package comment.
var listedPackage = regexp.MustCompile(`(?m)^//   - ([a-z/]+): `)

// The package comments of core and generators list the packages below them, each after those that
// it imports.
func TestPackageLists(t *testing.T) {
	for _, file := range []string{"core/doc.go", "generators/generators.go"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		position := map[string]int{} // of folders in the list, from 1
		for i, match := range listedPackage.FindAllSubmatch(text, -1) {
			position[path.Join(path.Dir(file), string(match[1]))] = i + 1
		}
		unseen := maps.Clone(position)
		for _, p := range repository(t) {
			if p.folder == path.Dir(file) || !isBelow(p.folder, path.Dir(file)) {
				continue
			}
			if position[p.folder] == 0 {
				t.Errorf("%s does not list %s", file, p.folder)
			}
			delete(unseen, p.folder)
			for _, imported := range p.Imports {
				if at := position[strings.TrimPrefix(imported, module+"/")]; at > position[p.folder] {
					t.Errorf("%s lists %s before %s, which it imports", file, p.folder, imported)
				}
			}
		}
		for folder := range unseen {
			t.Errorf("%s lists %s, which does not exist", file, folder)
		}
	}
}

// Everything that is Go is in one of five folders.
func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{"cmd", "core", "generators", "skeleton", "templates"}
	for _, entry := range entries {
		name := entry.Name()
		isExtra := entry.IsDir() && !strings.HasPrefix(name, ".") && !slices.Contains(folders, name)
		if isExtra || path.Ext(name) == ".go" {
			t.Errorf("%s is at the top level: move it below one of %v", name, folders)
		}
	}
}

// A replace directive would break go install …@latest.
func TestGoMod(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := mod.Module.Mod.Path; got != module {
		t.Errorf("module path = %q, want %q", got, module)
	}
	if n := len(mod.Replace); n != 0 {
		t.Errorf("go.mod has %d replace directives, want 0: require published versions", n)
	}
}

// A sourcePackage is a package of the repository, with the files of all platforms.
type sourcePackage struct {
	*build.Package
	folder string // from the root, with slashes
	fset   *token.FileSet
	files  []*ast.File // without tests
	tests  []*ast.File // of the same package
}

// repository returns all packages of the module, sorted by folder.
func repository(t *testing.T) []*sourcePackage {
	t.Helper()
	packages, err := readRepository()
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

var readRepository = sync.OnceValues(func() (packages []*sourcePackage, err error) {
	err = filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if dir != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		p, err := readPackage(dir)
		if noGo := (*build.NoGoError)(nil); errors.As(err, &noGo) {
			return nil
		}
		packages = append(packages, p)
		return err
	})
	return packages, err
})

func readPackage(dir string) (*sourcePackage, error) {
	context := build.Default
	context.UseAllFiles = true
	info, err := context.ImportDir(dir, 0)
	if err != nil {
		return nil, fmt.Errorf("read package in %s: %w", dir, err)
	}
	folder, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, err
	}
	p := &sourcePackage{Package: info, folder: filepath.ToSlash(folder), fset: token.NewFileSet()}
	if p.files, err = parseFiles(p.fset, dir, info.GoFiles); err == nil {
		p.tests, err = parseFiles(p.fset, dir, info.TestGoFiles)
	}
	return p, err
}

func parseFiles(fset *token.FileSet, dir string, names []string) (files []*ast.File, err error) {
	for _, name := range names {
		file, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
