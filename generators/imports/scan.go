package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"

	"github.com/petrock/petrock/generators/typecheck"
)

// scan returns the names that files of a folder export. Files that cannot be read are ignored.
func scan(dir string, files []string) map[string]bool {
	exported := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			continue
		}
		syntax, _ := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		for _, name := range typecheck.DeclaredNames(syntax) {
			if ast.IsExported(name) {
				exported[name] = true
			}
		}
	}
	return exported
}
