// Package emit writes Go files with jennifer, as gofmt and a careful person would: imports grouped,
// one comment line a line, texts between backquotes where that is easier to read.
package emit

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"
)

// A File is a Go file in the making.
type File struct{ *jen.File }

// NewFile begins a file of the package with this import path and name. Packages that it imports
// under a name that is not the last word of their path have to be told with ImportName; so
// have all that are not of the standard library.
func NewFile(path, name string) File { return File{jen.NewFilePathName(path, name)} }

// Paragraph adds comment lines, each of which is to hold no line break.
func (f File) Paragraph(lines ...string) {
	for _, line := range lines {
		f.Comment("// " + line)
	}
}

// Bytes is the file as gofmt writes it.
func (f File) Bytes() ([]byte, error) {
	var out bytes.Buffer
	if err := f.Render(&out); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("writing Go: %s", first)
	}
	return group(out.Bytes()), nil
}

// Source is a declaration as gofmt writes it. The file imports what the declaration refers to, and
// the declaration is not part of the file.
func (f File) Source(decl *jen.Statement) ([]byte, error) {
	var out bytes.Buffer
	if err := decl.RenderWithFile(&out, f.File); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("writing Go: %s", first)
	}
	return out.Bytes(), nil
}

// Use makes the file import a package.
func (f File) Use(path string) {
	jen.Var().Id("_").Op("=").Qual(path, "X").RenderWithFile(io.Discard, f.File) // it cannot be wrong
}

// Multiline is a list in braces that has each part on a line of its own.
func Multiline() jen.Options {
	return jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}
}

// Raw is a string between backquotes, if it can be.
func Raw(text string) *jen.Statement {
	if !strconv.CanBackquote(text) {
		return jen.Lit(text)
	}
	return jen.Op("`" + text + "`")
}

// Key is a field of a composite literal.
func Key(name string, value jen.Code) *jen.Statement { return jen.Id(name).Op(":").Add(value) }

// group puts an empty line between imports of the standard library and others, in a file whose
// imports are one sorted list.
func group(text []byte) []byte {
	head, rest, ok := bytes.Cut(text, []byte("\nimport (\n"))
	if !ok {
		return text
	}
	block, rest, ok := bytes.Cut(rest, []byte("\n)\n"))
	if !ok {
		return text
	}
	var standard, others []byte
	for line := range bytes.Lines(append(block, '\n')) {
		if isStandard(line) {
			standard = append(standard, line...)
		} else {
			others = append(others, line...)
		}
	}
	if len(standard) > 0 && len(others) > 0 {
		standard = append(standard, '\n')
	}
	return bytes.Join([][]byte{head, []byte("\nimport (\n"), standard, others, []byte(")\n"), rest}, nil)
}

// isStandard reports whether an import is one of those of the standard library that are written here.
func isStandard(line []byte) bool {
	path := strings.Trim(strings.TrimSpace(string(line)), `"`)
	switch path {
	case "context", "encoding/json", "errors", "fmt", "strings", "testing", "time":
		return true
	}
	return false
}
