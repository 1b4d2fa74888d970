package imports

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// A run is a number of imports that gofmt keeps sorted: nothing stands between their lines.
type run []*ast.ImportSpec

// roomy reports whether lines can be put into a declaration: it has parentheses, and they and the
// imports are on lines of their own.
func (h *head) roomy(decl *ast.GenDecl) bool {
	if !decl.Lparen.IsValid() {
		return false
	}
	last := decl.Lparen
	for _, spec := range decl.Specs {
		if h.line(spec.Pos()) <= h.line(last) || !h.first(spec.Pos()) {
			return false
		}
		last = spec.End()
	}
	return h.line(decl.Rparen) > h.line(last) && h.first(decl.Rparen)
}

// first reports whether nothing but space is before a position in its line.
func (h *head) first(pos token.Pos) bool {
	at := h.offset(pos)
	return strings.TrimSpace(string(h.text[h.startOfLine(at):at])) == ""
}

// runs are the imports of a declaration as gofmt sorts them.
func (h *head) runs(decl *ast.GenDecl) []run {
	var runs []run
	last := token.NoPos
	for _, spec := range decl.Specs {
		spec, ok := spec.(*ast.ImportSpec)
		if !ok {
			continue
		}
		if len(runs) == 0 || h.line(spec.Pos()) > h.line(last)+1 {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], spec)
		last = spec.End()
	}
	return runs
}

// insertIn is the text with an import in the run where its like is. If there is none, it becomes a
// run of its own in a declaration: before all others if it is of the standard library, and
// otherwise behind them.
func (h *head) insertIn(decl *ast.GenDecl, runs []run, l line, standard func(path string) bool) []byte {
	best, most := run(nil), 0
	for _, r := range runs {
		if likeness := r.likeness(l.path, standard); likeness > most {
			best, most = r, likeness
		}
	}
	written := "\t" + l.String() + h.newline
	switch {
	case best != nil:
		at := h.spot(best, l)
		return h.replace(at, at, written)
	case len(decl.Specs) == 0 || !standard(l.path):
		at := h.startOfLine(h.offset(decl.Rparen))
		if len(decl.Specs) > 0 {
			written = h.newline + written
		}
		return h.replace(at, at, written)
	}
	at, _ := restOfLine(h.text, h.offset(decl.Lparen)+1)
	return h.replace(at, at, written+h.newline)
}

// likeness is how well an import fits into a run: not at all if that has none of its kind, and
// otherwise the better the more words of its path it shares with one of them. Runs of one kind
// are better than mixed ones.
func (r run) likeness(path string, standard func(path string) bool) int {
	most, mixed := 0, 0
	for _, spec := range r {
		other := pathOf(spec)
		switch {
		case standard(other) != standard(path):
			mixed = 1
		case standard(path):
			most = 2
		default:
			most = max(most, 2+2*common(other, path))
		}
	}
	return max(0, most-mixed)
}

// common is the number of words with which two paths begin alike.
func common(a, b string) int {
	count := 0
	words := strings.Split(b, "/")
	for i, word := range strings.Split(a, "/") {
		if i >= len(words) || words[i] != word {
			break
		}
		count++
	}
	return count
}

// spot is where an import goes in a run: before the first that comes after it, and the comments
// above that, or behind the last.
func (h *head) spot(r run, l line) int {
	at := slices.IndexFunc(r, func(spec *ast.ImportSpec) bool { return lineOf(spec).compare(l) > 0 })
	switch {
	case at < 0:
		end, _ := restOfLine(h.text, h.offset(r[len(r)-1].End()))
		return end
	case r[at].Doc != nil:
		return h.startOfLine(h.offset(r[at].Doc.Pos()))
	}
	return h.startOfLine(h.offset(r[at].Pos()))
}
