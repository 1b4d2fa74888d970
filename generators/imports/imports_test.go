package imports_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/typecheck"
)

// A bench is a project whose files get imports.
type bench struct {
	testing.TB
	dir      string
	root     *os.Root
	cache    *typecheck.ExportCache
	store    *typecheck.Store
	resolver *imports.Resolver
}

// project writes an archive as module example.com/p, unless it has a go.mod.
func project(t testing.TB, archive string) *bench {
	t.Helper()
	dir := t.TempDir()
	files := append([]txtar.File{{Name: "go.mod", Data: []byte(plain)}}, txtar.Parse([]byte(archive)).Files...)
	for _, f := range files {
		write(t, dir, f.Name, string(f.Data))
	}
	return open(t, dir, "example.com/p")
}

const plain = "module example.com/p\n\ngo 1.26\n"

// open returns the project in a folder.
func open(t testing.TB, dir, module string) *bench {
	t.Helper()
	if t, ok := t.(*testing.T); ok {
		t.Setenv("GOWORK", "off")
		t.Setenv("GOFLAGS", "")
		t.Setenv("GOPROXY", "off")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	b := &bench{TB: t, dir: dir, root: root, cache: typecheck.NewExportCache(root)}
	system, err := b.cache.System(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.store = typecheck.NewStore(root, system.Context())
	b.resolver = imports.NewResolver(module, b.cache)
	return b
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) view() *typecheck.View {
	b.Helper()
	v, err := b.store.View()
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// add adds imports to a file.
func (b *bench) add(file, text string) (string, []imports.Missing) {
	b.Helper()
	out, missing, err := b.resolver.Add(b.Context(), b.view(), file, []byte(text))
	if err != nil {
		b.Fatal(err)
	}
	return string(out), missing
}

// imported lists the imports of a file as they are written, sorted.
func imported(t testing.TB, text string) []string {
	t.Helper()
	syntax, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, spec := range syntax.Imports {
		list = append(list, specText(spec))
	}
	slices.Sort(list)
	return list
}

func specText(spec *ast.ImportSpec) string {
	path := strings.Trim(spec.Path.Value, `"`)
	if spec.Name != nil {
		return spec.Name.Name + " " + path
	}
	return path
}
