package gen

import (
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A SourceError is a syntax error in Go code that is part of an input.
type SourceError struct {
	Field        string // of the input, such as body
	Text         string // of the field
	Line, Column int
	Message      string
}

// Error returns the position and the message.
func (e *SourceError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Field, e.Line, e.Column, e.Message)
}

// ParseBody parses statements with optional leading import declarations. It refuses text that would
// not stay inside of one function. field is the field of the input, for errors.
func ParseBody(field, text string) (imports []Import, statements string, err error) {
	const maxBytes = 100_000
	switch {
	case !utf8.ValidString(text):
		return nil, "", fmt.Errorf("the %s is not valid UTF-8", field)
	case len(text) > maxBytes:
		return nil, "", fmt.Errorf("the %s has %d bytes; send at most %d, and move the rest to another package", field, len(text), maxBytes)
	case strings.TrimSpace(text) == "":
		return nil, "", fmt.Errorf("the %s is empty; send the statements of the function, or omit it", field)
	}
	fail := func(line, column int, message string) ([]Import, string, error) {
		return nil, "", &SourceError{Field: field, Text: text, Line: line, Column: column, Message: message + "; send only the statements between the braces of the function"}
	}
	imports, end, err := leadingImports(text)
	if err != nil {
		return fail(1, 1, err.Error())
	}
	const before, after = "package p\nfunc _() {\n", "\n}\n"
	offset := strings.Count(before, "\n")
	whole := before + strings.Repeat("\n", strings.Count(text[:end], "\n")) + text[end:] + after
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "body", whole, parser.SkipObjectResolution|parser.ParseComments)
	for _, group := range file.Comments {
		for _, comment := range group.List { // gofmt moves some directives to the top of the file, others change line numbers
			if compilerDirective.MatchString(comment.Text) {
				at := fset.PositionFor(comment.Pos(), false)
				return fail(at.Line-offset, at.Column, "compiler directives are not allowed")
			}
		}
	}
	var list scanner.ErrorList
	hasErrors := errors.As(err, &list)
	if len(file.Decls) > 0 {
		at := fset.Position(file.Decls[0].End() - 1)
		if at.Offset < len(whole)-2 && (!hasErrors || list[0].Pos.Offset > at.Offset) {
			return fail(at.Line-offset, at.Column, "unmatched }")
		}
	}
	if hasErrors {
		line, column := max(1, list[0].Pos.Line-offset), list[0].Pos.Column
		if lines := strings.Split(text, "\n"); line > len(lines) { // the error is after the end of text
			line, column = len(lines), len(lines[len(lines)-1])+1
		}
		return fail(line, column, "syntax error: "+list[0].Msg)
	}
	return imports, strings.TrimRight(strings.TrimLeft(text[end:], "\n"), " \t\n"), nil
}

var compilerDirective = regexp.MustCompile(`^(//go:|/[/*]line |//export |// ?\+build )`)

// leadingImports parses the import declarations at the start of text and returns where they end.
func leadingImports(text string) (imports []Import, end int, err error) {
	const before = "package p;"
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "body", before+text, parser.ImportsOnly)
	if err != nil || len(file.Imports) == 0 {
		return nil, 0, nil // the caller parses the statements
	}
	for _, spec := range file.Imports {
		i := Import{}
		if spec.Name != nil {
			i.Name = spec.Name.Name
		}
		i.Path, err = strconv.Unquote(spec.Path.Value)
		if err != nil || i.Path == "C" || i.Name == "." || i.Name == "_" {
			return nil, 0, fmt.Errorf("cannot import %s: dot, blank and C imports are not allowed", strings.TrimSpace(i.Name+" "+spec.Path.Value))
		}
		imports = append(imports, i)
	}
	last := file.Decls[len(file.Decls)-1]
	return imports, fset.Position(last.End()).Offset - len(before), nil
}

// ParseDescription trims a description and checks that it fits into a doc comment of one line.
func ParseDescription(text string) (string, error) {
	text = strings.TrimSpace(text)
	const maxLength = 1000
	switch {
	case !utf8.ValidString(text):
		return "", errors.New("the description is not valid UTF-8")
	case utf8.RuneCountInString(text) > maxLength:
		return "", fmt.Errorf("the description has %d characters; send at most %d, and write more in the file", utf8.RuneCountInString(text), maxLength)
	}
	for _, r := range text {
		if !isText(r) {
			return "", fmt.Errorf("the description contains the character %U; write one line of plain text", r)
		}
	}
	return text, nil
}

// isText reports whether a description may contain a character. Line breaks would end the Go
// comment. Other control, invisible and bidirectional characters could hide text. Joiners are
// allowed: some scripts and emoji need them.
func isText(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return r == nonJoiner || r == joiner || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
