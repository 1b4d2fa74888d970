package imports_test

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// Every file of this repository gets the same imports again after they were removed from all files
// of its folder.
func TestRepository(t *testing.T) {
	b := open(t, "../..", "github.com/petrock/petrock")
	view := b.view()
	for _, dir := range view.Dirs() {
		pkg := view.Package(dir, nil)
		if pkg == nil {
			continue
		}
		bare, want := map[string][]byte{}, map[string][]string{}
		for _, file := range view.Files(dir) {
			text, had := strip(t, string(file.Text))
			bare[file.Path], want[file.Path] = []byte(text), had
		}
		stripped := view.With(bare)
		for _, file := range pkg.All() {
			out, missing, err := b.resolver.Add(t.Context(), stripped, file.Path, bare[file.Path])
			if err != nil {
				t.Fatal(err)
			}
			if got := imported(t, string(out)); !slices.Equal(got, want[file.Path]) || len(missing) > 0 {
				t.Errorf("%s gets\n\t%q, not\n\t%q\n\t%v", file.Path, got, want[file.Path], missing)
			}
		}
	}
}

// strip removes the imports of a file, except those with a name, those of packages below testdata,
// which are not searched, and those of other modules. It returns the imports that the file had.
func strip(t testing.TB, text string) (stripped string, had []string) {
	t.Helper()
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, "", text, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var kept strings.Builder
	end := syntax.Name.End()
	for _, decl := range syntax.Decls {
		end = max(end, decl.End())
	}
	for _, spec := range syntax.Imports {
		switch {
		case spec.Name != nil:
			kept.WriteString("\nimport " + spec.Name.Name + " " + spec.Path.Value + "\n")
		case strings.Contains(spec.Path.Value, "/testdata/"), strings.Contains(spec.Path.Value, ".") && !strings.Contains(spec.Path.Value, "/petrock/petrock"):
			kept.WriteString("\nimport " + spec.Path.Value + "\n")
		}
	}
	name := fset.PositionFor(syntax.Name.End(), false).Offset
	rest := fset.PositionFor(end, false).Offset
	return text[:name] + "\n" + kept.String() + text[rest:], imported(t, text)
}
