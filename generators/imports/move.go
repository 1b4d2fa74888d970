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

// A Move replaces the import path From, and those below it, by To.
type Move struct{ From, To string }

// Rewrite applies the first matching move to each import path of a Go file, and sorts its imports. It does
// not change the rest of the file.
func Rewrite(name string, src []byte, moves []Move) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ImportsOnly)
	if err != nil {
		return nil, fmt.Errorf("parse %w", err)
	}
	var out bytes.Buffer
	last := 0
	for _, spec := range file.Imports {
		moved := move(moves, pathOf(spec))
		if moved == pathOf(spec) {
			continue
		}
		out.Write(src[last:fset.Position(spec.Path.Pos()).Offset])
		out.WriteString(strconv.Quote(moved))
		last = fset.Position(spec.Path.End()).Offset
	}
	if last == 0 {
		return src, nil
	}
	end := fset.Position(file.Decls[len(file.Decls)-1].End()).Offset // end of the imports
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
			return path // already moved
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
