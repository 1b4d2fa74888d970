package scaffold

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
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
func moves(a Answers) []move {
	all := []move{
		{home() + "/skeleton/base/cmd/server", a.Module + "/cmd/" + a.Name},
		{home() + "/skeleton/base", a.Module},
		{home() + "/core", a.Module + "/core"},
		{home() + "/generators", a.Module + "/generators"},
	}
	if a.Example != "" {
		example := home() + "/skeleton/example/" + a.Example
		all = append([]move{{example + "/cmd/server", a.Module + "/cmd/" + a.Name}, {example, a.Module}}, all...)
	}
	return all
}

// A move says that packages at and below one path are found at another.
type move struct{ from, to string }

// apply is where the package of an import path is after the moves; the first that fits counts.
func apply(moves []move, path string) string {
	for _, m := range moves {
		if path == m.from {
			return m.to
		}
		if rest, ok := strings.CutPrefix(path, m.from+"/"); ok {
			return m.to + "/" + rest
		}
	}
	return path
}

// An edit replaces the text of one node.
type edit struct {
	at, end int // offsets
	text    string
}

// moveImports changes the import paths of a Go file and sorts its imports. The rest stays as it is.
func moveImports(name string, src []byte, moves []move) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ImportsOnly)
	if err != nil {
		return nil, fmt.Errorf("reading %w", err)
	}
	var edits []edit
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		if moved := apply(moves, path); moved != path {
			edits = append(edits, replace(fset, spec.Path, strconv.Quote(moved)))
		}
	}
	if len(edits) == 0 {
		return src, nil
	}
	end := fset.Position(file.Decls[len(file.Decls)-1].End()).Offset // of the imports
	head, err := format.Source(splice(src[:end], edits))
	if err != nil {
		return nil, fmt.Errorf("format %s: %w", name, err)
	}
	return append(bytes.TrimSuffix(head, []byte("\n")), src[end:]...), nil
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
			return splice(src, []edit{replace(fset, text, strconv.Quote(value))}), nil
		}
	}
	return nil, fmt.Errorf("%s: there is no string field %s", name, field)
}

func replace(fset *token.FileSet, node ast.Node, text string) edit {
	return edit{fset.Position(node.Pos()).Offset, fset.Position(node.End()).Offset, text}
}

// splice is src with the edits made, which are in order.
func splice(src []byte, edits []edit) []byte {
	var out bytes.Buffer
	last := 0
	for _, e := range edits {
		out.Write(src[last:e.at])
		out.WriteString(e.text)
		last = e.end
	}
	out.Write(src[last:])
	return out.Bytes()
}
