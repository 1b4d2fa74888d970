package derive

import (
	"go/ast"
	"path"
	"strconv"

	"github.com/petrock/petrock/generators/typecheck"
)

// Entries are what the log calls the commands of a feature, such as posts/create, by its derived file, which may be nil.
func Entries(derived *typecheck.File) []string { return parts(derived, "CommandOf") }

// Workers are the workers of a feature, such as posts/digest, by its derived file, which may be nil.
func Workers(derived *typecheck.File) []string { return parts(derived, "WorkerOf") }

// ToolNames are what clients call the tools of a package, by its derived file, which may be nil.
func ToolNames(derived *typecheck.File) []string {
	if derived == nil || !derived.IsDerived() {
		return nil
	}
	var names []string
	for node := range ast.Preorder(derived.Syntax) {
		pair, ok := node.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, isName := pair.Key.(*ast.Ident)
		value, isText := pair.Value.(*ast.BasicLit)
		if isName && isText && key.Name == "Name" {
			if text, err := strconv.Unquote(value.Value); err == nil {
				names = append(names, text)
			}
		}
	}
	return names
}

// parts are the names of what a derived file makes of a feature with a function of core.
func parts(derived *typecheck.File, function string) []string {
	if derived == nil || path.Dir(derived.Dir()) != Features || !derived.IsDerived() {
		return nil
	}
	var names []string
	ast.Inspect(derived.Syntax, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		called := call.Fun
		if index, ok := called.(*ast.IndexExpr); ok {
			called = index.X
		}
		selector, ok := called.(*ast.SelectorExpr)
		name, isText := call.Args[0].(*ast.BasicLit)
		if !ok || !isText || selector.Sel.Name != function {
			return true
		}
		if text, err := strconv.Unquote(name.Value); err == nil {
			names = append(names, path.Base(derived.Dir())+"/"+text)
		}
		return true
	})
	return names
}
