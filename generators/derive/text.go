package derive

import (
	"go/ast"
	"strings"
	"unicode"

	"github.com/petrock/petrock/generators/gen"
)

// describe makes a description of a function's doc comment: its paragraphs, each on a line of its
// own, without the name that Go's doc comments begin with, and its "is".
func describe(doc *ast.CommentGroup, name string) string {
	text := flow(doc)
	if rest, ok := strings.CutPrefix(text, name+" "); ok {
		for _, article := range []string{"a ", "an ", "the "} {
			if strings.HasPrefix(rest, "is "+article) {
				rest = strings.TrimPrefix(rest, "is ")
			}
		}
		text = gen.Capitalize(rest)
	}
	return text
}

// flow is the text of a comment with the lines of each paragraph joined. Indented lines, which
// are code or lists, stay lines.
func flow(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	var out strings.Builder
	between := ""
	for line := range strings.Lines(doc.Text()) {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		indented := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " ")
		switch {
		case line == "":
			if out.Len() > 0 {
				between = "\n\n"
			}
			continue
		case indented && between == " ":
			between = "\n"
		}
		out.WriteString(between + line)
		between = " "
		if indented {
			between = "\n"
		}
	}
	return out.String()
}

// fieldText is the description of a field: the comment above it, or else the one behind it.
func fieldText(field *ast.Field) string {
	if field == nil {
		return ""
	}
	if text := flow(field.Doc); text != "" {
		return text
	}
	return flow(field.Comment)
}
