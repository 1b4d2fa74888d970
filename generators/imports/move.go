package imports

import (
	"bytes"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// A Move says that packages at and below one import path are found at another.
type Move struct{ From, To string }

// Rewrite changes the import paths of a Go file by the first move that fits each, and sorts its
// imports. The rest stays as it is.
func Rewrite(name string, src []byte, moves []Move) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ImportsOnly)
	if err != nil {
		return nil, fmt.Errorf("reading %w", err)
	}
	var out bytes.Buffer
	last := 0
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		moved := move(moves, path)
		if moved == path {
			continue
		}
		out.Write(src[last:fset.Position(spec.Path.Pos()).Offset])
		out.WriteString(strconv.Quote(moved))
		last = fset.Position(spec.Path.End()).Offset
	}
	if last == 0 {
		return src, nil
	}
	end := fset.Position(file.Decls[len(file.Decls)-1].End()).Offset // of the imports
	out.Write(src[last:end])
	head, err := format.Source(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("format %s: %w", name, err)
	}
	return append(bytes.TrimSuffix(head, []byte("\n")), src[end:]...), nil
}

func move(moves []Move, path string) string {
	for _, m := range moves {
		if path == m.To || strings.HasPrefix(path, m.To+"/") {
			return path // it is there already
		}
		if path == m.From {
			return m.To
		}
		if rest, ok := strings.CutPrefix(path, m.From+"/"); ok {
			return m.To + "/" + rest
		}
	}
	return path
}
