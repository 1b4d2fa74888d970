package scaffold

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/skeleton"
	"github.com/petrock/petrock/templates"
)

// Sources are the files that projects are made of.
type Sources struct {
	Core       fs.FS // the folder core
	Generators fs.FS // the folder generators
	Skeleton   fs.FS // base, and the examples in example
	Templates  fs.FS // files that are not Go, in project
}

// Embedded returns the sources that this program embeds.
func Embedded() Sources {
	return Sources{Core: core.Files, Generators: generators.Files, Skeleton: skeleton.Files, Templates: templates.Files}
}

// home returns the path of petrock's own module.
func home() string {
	return strings.TrimSuffix(reflect.TypeFor[Sources]().PkgPath(), "/cmd/petrock/internal/scaffold")
}

// Examples returns the names of the examples, sorted.
func (s Sources) Examples() []string {
	entries, _ := fs.ReadDir(s.Skeleton, "example") // without the folder there are no examples
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}

// A tree is a folder of Go files that is copied into the project.
type tree struct {
	files fs.FS
	from  string // its folder in files
	to    string // its folder in the project; "." is the root
	ours  bool   // petrock's code, copied without tests
	skip  string // a folder in files that is not copied, or empty
}

// trees returns the trees of the project. Files of later trees replace those of earlier ones. The
// tools of an example replace those of the base.
func (s Sources) trees(a Answers) []tree {
	base := tree{files: s.Skeleton, from: "base", to: "."}
	example := tree{files: s.Skeleton, from: path.Join("example", a.Example), to: "."}
	if _, err := fs.Stat(s.Skeleton, path.Join(example.from, "tools")); a.Example != "" && err == nil {
		base.skip = "base/tools"
	}
	all := []tree{
		{files: s.Core, from: ".", to: "core", ours: true},
		{files: s.Generators, from: ".", to: "generators", ours: true},
		base,
	}
	if a.Example != "" {
		all = append(all, example)
	}
	return all
}

// read calls put for each file that is copied.
func (t tree) read(name string, put func(file string, data []byte)) error {
	return fs.WalkDir(t.files, t.from, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && file == t.skip {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || isStandin(file) || t.ours && isPrivate(file) {
			return err
		}
		data, err := fs.ReadFile(t.files, file)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		put(t.place(file, name), data)
		return nil
	})
}

// isStandin reports whether a file only lets an example compile in petrock's repository.
func isStandin(file string) bool { return path.Base(file) == "standin.go" }

// isPrivate reports whether a file of core or generators is not copied into projects.
func isPrivate(file string) bool {
	return strings.HasSuffix(file, "_test.go") || path.Base(file) == "embed.go" || slices.Contains(strings.Split(file, "/"), "testdata")
}

// place returns the path of a file in a project with this name. The folder cmd/server becomes
// cmd/name.
func (t tree) place(file, name string) string {
	inside := strings.TrimPrefix(file, t.from+"/")
	if rest, ok := strings.CutPrefix(inside, "cmd/server/"); ok && !t.ours {
		inside = path.Join("cmd", name, rest)
	}
	return path.Join(t.to, inside)
}

// moves returns the changes of import paths of petrock's module, longest first.
func moves(a Answers) []imports.Move {
	all := []imports.Move{
		{From: home() + "/skeleton/base/cmd/server", To: a.Module + "/cmd/" + a.Name},
		{From: home() + "/skeleton/base", To: a.Module},
		{From: home() + "/core", To: a.Module + "/core"},
		{From: home() + "/generators", To: a.Module + "/generators"},
	}
	if a.Example != "" {
		example := home() + "/skeleton/example/" + a.Example
		all = append([]imports.Move{{From: example + "/cmd/server", To: a.Module + "/cmd/" + a.Name}, {From: example, To: a.Module}}, all...)
	}
	return all
}

// setField sets the first string field of this name in the composite literals of a Go file.
func setField(name string, src []byte, field, value string) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("read %w", err)
	}
	for node := range ast.Preorder(file) {
		pair, ok := node.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, isName := pair.Key.(*ast.Ident)
		if text, isText := pair.Value.(*ast.BasicLit); isName && isText && key.Name == field && text.Kind == token.STRING {
			begin, end := fset.Position(text.Pos()).Offset, fset.Position(text.End()).Offset
			return slices.Concat(src[:begin], []byte(strconv.Quote(value)), src[end:]), nil
		}
	}
	return nil, fmt.Errorf("%s: no string field %s", name, field)
}
