package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"

	"github.com/petrock/petrock/generators/typecheck"
)

// scan reads which names the files of a folder export as one package. What cannot be read of them
// exports nothing.
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
