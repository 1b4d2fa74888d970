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

// Sources are what a project is made out of.
type Sources struct {
	Core       fs.FS // the folder core
	Generators fs.FS // the folder generators
	Skeleton   fs.FS // base, and below example what examples put over it
	Templates  fs.FS // project: what is not Go
}

// Embedded are the sources that this program carries.
func Embedded() Sources {
	return Sources{Core: core.Files, Generators: generators.Files, Skeleton: skeleton.Files, Templates: templates.Files}
}

// home is the path of petrock's own module.
func home() string {
	return strings.TrimSuffix(reflect.TypeFor[Sources]().PkgPath(), "/cmd/petrock/internal/scaffold")
}

// Examples are the names that [Answers.Example] may have, sorted.
func (s Sources) Examples() []string {
	entries, _ := fs.ReadDir(s.Skeleton, "example") // without it, the plain project is all there is
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}

// A tree is a folder of Go that goes into the project, with the place that it goes to.
type tree struct {
	files fs.FS
	from  string // its folder in files
	to    string // its folder in the project; "." is the root
	ours  bool   // users get the code and not its tests
	less  string // a folder in files that the project does not get; empty for none
}

// trees are what the project is made of; where several have a file, the last counts. An example that has tools has them instead of those of
// the plain project.
func (s Sources) trees(a Answers) []tree {
	base := tree{files: s.Skeleton, from: "base", to: "."}
	example := tree{files: s.Skeleton, from: path.Join("example", a.Example), to: "."}
	if _, err := fs.Stat(s.Skeleton, path.Join(example.from, "tools")); a.Example != "" && err == nil {
		base.less = "base/tools"
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

// read calls put for each file that the project gets of this tree.
func (t tree) read(name string, put func(file string, data []byte)) error {
	return fs.WalkDir(t.files, t.from, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && file == t.less {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || standsIn(file) || t.ours && stays(file) {
			return err
		}
		data, err := fs.ReadFile(t.files, file)
		if err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		put(t.place(file, name), data)
		return nil
	})
}

// standsIn reports whether a file of the skeleton stands in for the rest of a project, for files that are put over that.
func standsIn(file string) bool { return path.Base(file) == "standin.go" }

// stays reports whether a file of core or generators is petrock's alone.
func stays(file string) bool {
	return strings.HasSuffix(file, "_test.go") || path.Base(file) == "embed.go" || slices.Contains(strings.Split(file, "/"), "testdata")
}

// place is where a file of the tree is in a project of this name: cmd/server is the
// folder that is called after the project.
func (t tree) place(file, name string) string {
	inside := strings.TrimPrefix(file, t.from+"/")
	if rest, ok := strings.CutPrefix(inside, "cmd/server/"); ok && !t.ours {
		inside = path.Join("cmd", name, rest)
	}
	return path.Join(t.to, inside)
}

// moves says how import paths change, longest first: those of petrock's own module are
// those of the project's.
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
		return nil, fmt.Errorf("reading %w", err)
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
	return nil, fmt.Errorf("%s: there is no string field %s", name, field)
}
