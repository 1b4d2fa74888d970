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
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A GoFile builds a Go file from declarations as text. It groups the imports, and formats and wraps
// the file.
type GoFile struct{ *goFile }

type goFile struct {
	path, name string            // of its package
	names      map[string]string // of packages, by import path, unless it is the last element of the path
	imports    map[string]string // names in the file, by import path
	header     string            // before the package clause
	body       strings.Builder
}

// NewGoFile returns an empty file of the package with an import path and name.
func NewGoFile(path, name string) GoFile {
	return GoFile{&goFile{path: path, name: name, names: map[string]string{}, imports: map[string]string{}}}
}

// Header adds lines before the package clause.
func (f GoFile) Header(lines string) { f.header += lines + "\n" }

// ImportName sets the name that a package has in the file. The default is the last element of its
// path. Call it before Ref.
func (f GoFile) ImportName(path, name string) { f.names[path] = name }

// Bytes returns the formatted file. Doc comments and comments of fields are wrapped.
func (f GoFile) Bytes() ([]byte, error) {
	text, err := format.Source([]byte(f.header + "package " + f.name + "\n\n" + f.importDecl() + f.body.String()))
	if err == nil {
		text, err = wrapComments(text)
	}
	if err != nil {
		return nil, fmt.Errorf("write Go: %w", err)
	}
	return text, nil
}

// Text adds Go source that uses the imports.
func (f GoFile) Text(source string, imports ...string) {
	for _, path := range imports {
		f.Use(path)
	}
	f.body.WriteString(source + "\n")
}

// Use makes the file import a package.
func (f GoFile) Use(path string) { f.Ref(path, "X") }

// Ref imports a package and returns a qualified name, package.Name. In the file's own package it
// returns the name.
func (f GoFile) Ref(imported, name string) string {
	if imported == f.path {
		return name
	}
	if _, known := f.imports[imported]; !known {
		used := slices.Collect(maps.Values(f.imports))
		base := cmp.Or(f.names[imported], path.Base(imported))
		pkg := base
		for n := 1; pkg == "err" || slices.Contains(used, pkg) || token.IsKeyword(pkg) || types.Universe.Lookup(pkg) != nil; n++ {
			pkg = base + strconv.Itoa(n)
		}
		f.imports[imported] = pkg
	}
	return f.imports[imported] + "." + name
}

// importDecl returns the imports: first the standard library, whose paths have no dot in the first
// element, which differs from that of the file's own package.
func (f GoFile) importDecl() string {
	own, _, _ := strings.Cut(f.path, "/")
	var groups [2]string
	for _, imported := range slices.Sorted(maps.Keys(f.imports)) {
		spec, group := strconv.Quote(imported)+"\n", 0
		if name := f.imports[imported]; name != path.Base(imported) {
			spec = name + " " + spec
		}
		if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") || first == strings.TrimSuffix(own, "_test") {
			group = 1
		}
		groups[group] += spec
	}
	switch len(f.imports) {
	case 0:
		return ""
	case 1:
		return "import " + groups[0] + groups[1] + "\n"
	}
	return "import (\n" + strings.TrimSpace(groups[0]+"\n"+groups[1]) + "\n)\n"
}

// RawString returns a raw string literal if possible, else an interpreted one.
func RawString(text string) string {
	if !strconv.CanBackquote(text) {
		return strconv.Quote(text)
	}
	return "`" + text + "`"
}

// Duration returns a duration in the largest unit that divides it: 5 * time.Minute.
func (f GoFile) Duration(d time.Duration) string {
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"Hour", time.Hour}, {"Minute", time.Minute}, {"Second", time.Second}, {"Millisecond", time.Millisecond}} {
		switch {
		case d == u.unit:
			return f.Ref("time", u.name)
		case d != 0 && d%u.unit == 0:
			return fmt.Sprintf("%d * %s", d/u.unit, f.Ref("time", u.name))
		}
	}
	return fmt.Sprintf("%s(%d)", f.Ref("time", "Duration"), d)
}

// maxColumns is the width to which comments are wrapped.
const maxColumns = 100

// wrapComments wraps doc comments that are too wide. A wide comment after a field moves above the field.
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

// wrapLine wraps a line comment. It breaks before letters alone, since a line that begins with
// something else may be a list or a heading. Directives and indented text stay as they are.
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
