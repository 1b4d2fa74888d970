package scaffold

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

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

// moveImports changes the import paths of a Go file. Nothing but those changes, and the
// order of imports where gofmt wants another.
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
	moved, err := format.Source(splice(src, edits))
	if err != nil {
		return nil, fmt.Errorf("formatting %s: %w", name, err)
	}
	return moved, nil
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
