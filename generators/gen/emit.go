package gen

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"
)

// A GoFile builds a Go file. Jennifer writes its imports, literals and types, and formats it;
// declarations are added as source with [GoFile.Text].
type GoFile struct {
	*jen.File
	path   string // of its package
	failed *error // the first error of Code
}

// NewGoFile returns an empty file of the package with an import path and name. Declare imported
// packages outside the standard library with ImportName.
func NewGoFile(path, name string) GoFile {
	return GoFile{jen.NewFilePathName(path, name), path, new(error)}
}

// Bytes returns the formatted file. Doc comments and comments of fields are wrapped. It fails if
// the source is not valid Go, or if [GoFile.Code] has failed.
func (f GoFile) Bytes() ([]byte, error) {
	var out bytes.Buffer
	if err := cmp.Or(*f.failed, f.Render(&out)); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("write Go: %s", first)
	}
	return wrapComments(f.groupImports(out.Bytes()))
}

// Text adds Go source that uses the imports. Declare packages outside the standard library with
// ImportName.
func (f GoFile) Text(source string, imports ...string) {
	for _, path := range imports {
		f.Import(path)
	}
	f.Add(Source(source))
}

// TypeText returns a type as Go source, and adds its imports. Imports get no name that is taken.
func (f GoFile) TypeText(t types.Type, taken ...string) string {
	if alias, ok := t.(*types.Alias); ok && alias.Obj().Pkg() != nil && !alias.Obj().Exported() {
		t = types.Unalias(t)
	}
	return types.TypeString(t, func(pkg *types.Package) string { return f.ImportAs(pkg.Path(), pkg.Name(), taken) })
}

// ImportAs is Import for a package with a name, which is changed if it is taken.
func (f GoFile) ImportAs(imported, name string, taken []string) string {
	if slices.Contains(taken, name) && imported != "context" {
		name += "2"
	}
	if name == path.Base(imported) {
		f.ImportName(imported, name)
	} else {
		f.ImportAlias(imported, name)
	}
	return f.Import(imported)
}

// Import imports a package and returns its name in the file, which is empty for the file's own
// package.
func (f GoFile) Import(path string) (name string) {
	name, _, isOther := strings.Cut(f.Ref(path, "X"), ".")
	if !isOther {
		return ""
	}
	return name
}

// Ref imports a package and returns a qualified name, package.Name.
func (f GoFile) Ref(path, name string) string { return f.Code(jen.Qual(path, name)) }

// Code returns an expression or type as source for [GoFile.Text], and adds its imports to the file.
// If it cannot be written, [GoFile.Bytes] returns the error.
func (f GoFile) Code(code *jen.Statement) string {
	var out bytes.Buffer
	*f.failed = cmp.Or(*f.failed, code.RenderWithFile(&out, f.File))
	return out.String()
}

// Source returns Go source as code, unchanged: jennifer writes the text of an operator as it is.
func Source(text string) *jen.Statement { return jen.Op(text) }

// TextLit returns a string literal, in backquotes if that saves escapes.
func TextLit(text string) *jen.Statement {
	if !strings.ContainsAny(text, "\"\\\n") {
		return jen.Lit(text)
	}
	return Source(RawString(text))
}

// RawString returns a raw string literal if possible, else an interpreted one.
func RawString(text string) string {
	if !strconv.CanBackquote(text) {
		return strconv.Quote(text)
	}
	return "`" + text + "`"
}

// KeyValue returns a keyed element of a composite literal.
func KeyValue(name string, value jen.Code) *jen.Statement { return jen.Id(name).Op(":").Add(value) }

// Duration returns an expression for a duration, in the largest unit from hours to milliseconds
// that divides it: 5 * time.Minute. Other durations are in nanoseconds: time.Duration(1500).
func Duration(d time.Duration) *jen.Statement {
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"Hour", time.Hour}, {"Minute", time.Minute}, {"Second", time.Second}, {"Millisecond", time.Millisecond}} {
		switch {
		case d == u.unit:
			return jen.Qual("time", u.name)
		case d != 0 && d%u.unit == 0:
			return jen.Lit(int(d/u.unit)).Op("*").Qual("time", u.name)
		}
	}
	return jen.Qual("time", "Duration").Call(jen.Lit(int(d)))
}

// groupImports splits the sorted imports into the standard library and the rest.
func (f GoFile) groupImports(text []byte) []byte {
	head, rest, _ := bytes.Cut(text, []byte("\nimport (\n"))
	block, rest, ok := bytes.Cut(rest, []byte("\n)\n"))
	if !ok || bytes.ContainsRune(head, '`') { // no import block, or one inside a string
		return text
	}
	var standard, others []byte
	for line := range bytes.Lines(append(block, '\n')) {
		if f.isStandard(line) {
			standard = append(standard, line...)
		} else {
			others = append(others, line...)
		}
	}
	if len(standard) > 0 && len(others) > 0 {
		standard = append(standard, '\n')
	}
	return fmt.Appendf(nil, "%s\nimport (\n%s%s)\n%s", head, standard, others, rest)
}

// isStandard reports whether an import is from the standard library: the first element of its path
// has no dot, and differs from that of the file's own package.
func (f GoFile) isStandard(line []byte) bool {
	_, imported, _ := strings.Cut(string(line), `"`)
	first, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(imported), `"`), "/")
	own, _, _ := strings.Cut(f.path, "/")
	return !strings.Contains(first, ".") && first != strings.TrimSuffix(own, "_test")
}

// maxColumns is the width to which comments are wrapped.
const maxColumns = 100

// wrapComments wraps doc comments that are too wide. A wide comment after a field moves above the
// field.
func wrapComments(text []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	done := 0
	replace := func(from, to token.Pos, with string) {
		out.Write(text[done:fset.Position(from).Offset])
		out.WriteString(with)
		done = fset.Position(to).Offset
	}
	ast.Inspect(file, func(node ast.Node) bool {
		var doc *ast.CommentGroup
		switch n := node.(type) {
		case *ast.GenDecl:
			doc = n.Doc
		case *ast.FuncDecl:
			doc = n.Doc
		case *ast.Field:
			if n.Comment != nil && fset.Position(n.Comment.End()).Column > maxColumns+1 {
				replace(n.Pos(), n.Pos(), wrapLine(n.Comment.List[0].Text, maxColumns-tabWidth)+"\n")
				replace(n.Comment.Pos(), n.Comment.End(), "")
			}
		case *ast.BlockStmt:
			return false
		}
		if doc != nil {
			for _, c := range doc.List {
				replace(c.Pos(), c.End(), wrapLine(c.Text, maxColumns))
			}
		}
		return true
	})
	out.Write(text[done:])
	return format.Source(out.Bytes())
}

const tabWidth = 4

// wrapLine wraps a line comment. It breaks only before words that begin with a letter, since a line
// that begins with another character may be a list or a heading. Directives and indented text stay
// unchanged.
func wrapLine(comment string, width int) string {
	text, ok := strings.CutPrefix(comment, "// ")
	if !ok || utf8.RuneCountInString(comment) <= width || text != strings.TrimSpace(text) {
		return comment
	}
	lines, line := "", "//"
	for word := range strings.FieldsSeq(text) {
		if first, _ := utf8.DecodeRuneInString(word); utf8.RuneCountInString(line+" "+word) > width && unicode.IsLetter(first) && line != "//" {
			lines, line = lines+line+"\n", "//"
		}
		line += " " + word
	}
	return lines + line
}
