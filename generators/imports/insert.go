package imports

import (
	"bytes"
	"go/ast"
	"go/format"
	"slices"
)

// insert writes imports into a file that parses: those of the standard library among their like,
// others among theirs, sorted. Nothing else changes, but for the columns of comments behind imports.
func (s *Seeker) insert(p *place, text []byte, lines []line) []byte {
	for _, l := range lines {
		h, err := readHead(text)
		if err != nil {
			return text // it has parsed before
		}
		standard := func(path string) bool { return s.standard.has(path) && p.inside(path) == nil }
		next := h.insert(l, standard)
		if h.aligned() {
			next = align(next)
		}
		text = next
	}
	return text
}

// insert is the text with one import more. It goes into a declaration with parentheses, into one
// without, which gets some, or into one of its own.
func (h *head) insert(l line, standard func(path string) bool) []byte {
	var runs []run
	var blocks []*ast.GenDecl
	for _, decl := range h.decls() {
		if h.roomy(decl) {
			blocks = append(blocks, decl)
			runs = append(runs, h.runs(decl)...)
		}
	}
	if len(blocks) > 0 {
		return h.insertIn(blocks[0], runs, l, standard)
	}
	for _, decl := range h.decls() {
		if widened := h.widen(decl); widened != nil {
			if wide, err := readHead(widened); err == nil {
				return wide.insert(l, standard)
			}
		}
	}
	return h.begin(l)
}

// widen is the text with parentheses around the one import of a declaration. It is nil if there are
// some already, or if the declaration shares its line with others.
func (h *head) widen(decl *ast.GenDecl) []byte {
	from, after := h.offset(decl.Pos()), h.offset(decl.Pos())+len("import")
	to, alone := restOfLine(h.text, h.offset(decl.End()))
	if decl.Lparen.IsValid() || !alone || len(bytes.TrimSpace(h.text[h.startOfLine(from):from])) > 0 {
		return nil
	}
	wide := " (" + h.newline + "\t" + string(bytes.TrimSpace(h.text[after:to])) + h.newline + ")" + h.newline
	if next := bytes.TrimLeft(h.text[to:], " \t"); bytes.HasPrefix(next, []byte("/")) {
		wide += h.newline // a comment that is not about the imports
	}
	return h.replace(after, to, wide)
}

// begin is the text with an import declaration behind the package clause.
func (h *head) begin(l line) []byte {
	end := h.offset(h.syntax.Name.End())
	at, alone := restOfLine(h.text, end)
	if !alone {
		return h.replace(end, end, "; import "+l.String())
	}
	made := h.newline + "import " + l.String() + h.newline
	if at > 0 && h.text[at-1] != '\n' {
		made = h.newline + made
	}
	if end, blank := restOfLine(h.text, at); !blank || len(bytes.TrimSpace(h.text[at:end])) > 0 {
		made += h.newline
	}
	return h.replace(at, at, made)
}

// aligned reports whether there are comments behind imports, in columns as gofmt makes them.
func (h *head) aligned() bool {
	commented := slices.ContainsFunc(h.syntax.Imports, func(s *ast.ImportSpec) bool { return s.Comment != nil })
	end, alone := h.end()
	if !commented || !alone {
		return false
	}
	formatted, err := format.Source(h.text[:end])
	return err == nil && bytes.Equal(formatted, h.text[:end])
}

// align is the text with the imports as gofmt writes them.
func align(text []byte) []byte {
	h, err := readHead(text)
	if err != nil {
		return text
	}
	if end, alone := h.end(); alone {
		if formatted, err := format.Source(text[:end]); err == nil {
			return h.replace(0, end, string(formatted))
		}
	}
	return text
}
