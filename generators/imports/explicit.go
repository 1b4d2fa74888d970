package imports

import (
	"context"
	"go/parser"
	"go/token"

	"github.com/petrock/petrock/generators/typecheck"
)

// An Import is a package that a file is to import.
type Import struct {
	Name string // by which the file calls it; empty if it is the package's own
	Path string
}

// Insert returns a file with imports that somebody has asked for, whatever is used of them.
func (s *Seeker) Insert(ctx context.Context, view *typecheck.View, file string, text []byte, list []Import) ([]byte, error) {
	syntax, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments)
	if err != nil || len(list) == 0 {
		return text, nil // what is wrong is for the compiler to speak of
	}
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	var lines []line
	for _, i := range list {
		if i.Name != "" || !imported(syntax, i.Path) {
			lines = append(lines, line{i.Name, i.Path})
		}
	}
	return s.insert(s.place(view, file, syntax), text, lines), nil
}
