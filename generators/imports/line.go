package imports

import (
	"cmp"
	"go/ast"
	"strconv"
)

// A line is an import to be written.
type line struct {
	name string // empty if the path says it
	path string
}

// String is the import as it stands in a file.
func (l line) String() string {
	if l.name != "" {
		return l.name + " " + strconv.Quote(l.path)
	}
	return strconv.Quote(l.path)
}

// compare orders imports as gofmt does.
func (l line) compare(other line) int {
	return cmp.Or(cmp.Compare(l.path, other.path), cmp.Compare(l.name, other.name))
}

// lineOf is an import that is there.
func lineOf(spec *ast.ImportSpec) line {
	l := line{path: pathOf(spec)}
	if spec.Name != nil {
		l.name = spec.Name.Name
	}
	return l
}

// pathOf is the path of an import, empty if it is none.
func pathOf(spec ast.Spec) string {
	if spec, ok := spec.(*ast.ImportSpec); ok {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil {
			return path
		}
	}
	return ""
}
