package imports

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// A head is a file as far as its imports go.
type head struct {
	text    []byte
	fset    *token.FileSet
	syntax  *ast.File
	newline string
}

// readHead reads the beginning of a file.
func readHead(text []byte) (*head, error) {
	h := &head{text: text, fset: token.NewFileSet(), newline: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		h.newline = "\r\n"
	}
	var err error
	h.syntax, err = parser.ParseFile(h.fset, "", text, parser.ImportsOnly|parser.ParseComments)
	return h, err
}

// end is where the last import declaration ends, with its line, and whether that is its own.
func (h *head) end() (end int, alone bool) {
	last := h.syntax.Name.End()
	for _, decl := range h.syntax.Decls {
		last = max(last, decl.End())
	}
	return restOfLine(h.text, h.offset(last))
}

// offset is where a position is in the text.
func (h *head) offset(pos token.Pos) int { return h.fset.File(h.syntax.FileStart).Offset(pos) }

// line is the number of a position's line, whatever comments say of it.
func (h *head) line(pos token.Pos) int { return h.fset.PositionFor(pos, false).Line }

// startOfLine is where the line of an offset begins.
func (h *head) startOfLine(offset int) int { return bytes.LastIndexByte(h.text[:offset], '\n') + 1 }

// restOfLine is where the next line begins after an offset, comments that go beyond the line
// included, and whether there is nothing else before that.
func restOfLine(text []byte, from int) (end int, alone bool) {
	for at := from; at < len(text); at++ {
		switch rest := text[at:]; {
		case text[at] == '\n':
			return at + 1, true
		case text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == ';':
		case bytes.HasPrefix(rest, []byte("//")):
			if length := bytes.IndexByte(rest, '\n'); length >= 0 {
				return at + length + 1, true
			}
			return len(text), true
		case bytes.HasPrefix(rest, []byte("/*")):
			length := bytes.Index(rest[2:], []byte("*/"))
			if length < 0 {
				return len(text), false
			}
			at += length + 3
		default:
			return at, false
		}
	}
	return len(text), true
}

// replace is the text with another part in the place of what is between two offsets.
func (h *head) replace(from, to int, part string) []byte {
	return slices.Concat(h.text[:from], []byte(part), h.text[to:])
}

// decls are the import declarations, without those that import "C": the comments above them are C.
func (h *head) decls() []*ast.GenDecl {
	var decls []*ast.GenDecl
	for _, decl := range h.syntax.Decls {
		d, ok := decl.(*ast.GenDecl)
		if ok && d.Tok == token.IMPORT && !slices.ContainsFunc(d.Specs, func(s ast.Spec) bool { return pathOf(s) == "C" }) {
			decls = append(decls, d)
		}
	}
	return decls
}
