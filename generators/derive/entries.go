package derive

import (
	"go/ast"
	"path"
	"strconv"

	"github.com/petrock/petrock/generators/source"
)

// Entries are what the log calls the commands of a feature, such as posts/create, by its derived file, which may be nil.
func Entries(derived *source.File) []string {
	if derived == nil || path.Dir(derived.Dir()) != Features || !derived.IsDerived() {
		return nil
	}
	var entries []string
	ast.Inspect(derived.Syntax, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		index, ok := call.Fun.(*ast.IndexExpr)
		if !ok {
			return true
		}
		function, ok := index.X.(*ast.SelectorExpr)
		name, isText := call.Args[0].(*ast.BasicLit)
		if !ok || !isText || function.Sel.Name != "CommandOf" {
			return true
		}
		if text, err := strconv.Unquote(name.Value); err == nil {
			entries = append(entries, path.Base(derived.Dir())+"/"+text)
		}
		return true
	})
	return entries
}
