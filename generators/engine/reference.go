package engine

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// A reference names a function of the project: ./folder.Function or ./folder.Variable.Method.
type reference struct {
	dir  string   // folder of the package, relative to the project's root
	call []string // a function, or a variable and its method
}

// String returns the reference in its canonical form.
func (r reference) String() string { return asFolder(r.dir) + "." + strings.Join(r.call, ".") }

func asFolder(dir string) string { return "./" + strings.TrimPrefix(dir, ".") }

// resolveReference resolves a reference. It begins with a folder relative to the project's root, or with the
// unique name or the import path of a package.
func (e *Engine) resolveReference(text string) (reference, error) {
	found := parseReference(text)
	if len(found) == 0 {
		return reference{}, fmt.Errorf("%q is not a function of the project; write ./folder.Function or ./folder.Variable.Method, with a folder relative to the project's root", gen.Shorten(text))
	}
	for _, r := range found {
		if len(e.before.Files(r.dir)) > 0 {
			return r, nil
		}
	}
	for _, r := range found {
		dirs := e.dirsNamed(r.dir)
		if strings.HasPrefix(text, ".") || len(dirs) == 0 {
			continue
		}
		if len(dirs) > 1 {
			var meant []string
			for _, dir := range dirs {
				meant = append(meant, reference{dir, r.call}.String())
			}
			return reference{}, fmt.Errorf("%q is ambiguous: %s", gen.Shorten(text), strings.Join(meant, " or "))
		}
		return reference{dirs[0], r.call}, nil
	}
	return reference{}, e.noFolderError(text, found[len(found)-1].dir)
}

// parseReference returns the possible meanings of a reference: the last name may be a function, or the last
// two a variable and its method.
func parseReference(text string) []reference {
	const maxLength = 1000
	text = strings.ReplaceAll(strings.TrimSpace(text), `\`, "/")
	if len(text) > maxLength {
		return nil
	}
	slash := strings.LastIndexByte(text, '/')
	words := strings.Split(text[slash+1:], ".")
	var found []reference
	for n := 1; n <= 2 && n < len(words); n++ {
		at := len(words) - n
		r := reference{path.Clean(text[:slash+1] + strings.Join(words[:at], ".")), words[at:]}
		if !slices.ContainsFunc(r.call, func(word string) bool { return !token.IsIdentifier(word) }) {
			found = append(found, r)
		}
	}
	return found
}

// dirsNamed returns the folders of packages with a name or an import path.
func (e *Engine) dirsNamed(name string) []string {
	var dirs []string
	for _, dir := range e.before.Dirs() {
		if e.checker.ImportPath(dir) == name {
			return []string{dir}
		}
		if pkg := e.before.Package(dir, nil); pkg != nil && (pkg.Name == name || path.Base(dir) == name) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func (e *Engine) noFolderError(text, dir string) error {
	if path.IsAbs(dir) || dir == ".." || strings.HasPrefix(dir, "../") {
		return fmt.Errorf("%q is outside the project; write ./folder.Function, with a folder relative to the project's root", gen.Shorten(text))
	}
	if mod := e.otherModule(path.Join(dir, "x")); mod != "" {
		return fmt.Errorf("%q is in another module (%s); write a function in this module that calls it, and use that", gen.Shorten(text), mod)
	}
	if above, base := path.Split(dir); strings.Contains(base, ".") {
		base, _, _ = strings.Cut(base, ".")
		if near := path.Join(above, base); len(e.before.Files(near)) > 0 {
			return fmt.Errorf("%q: only a function, or a variable and its method, may follow the folder %s; write a function for the rest, and use that", gen.Shorten(text), near)
		}
	}
	others := e.userFolders()
	if len(others) == 0 {
		return fmt.Errorf("%q: folder %q has no Go files; write a package first", gen.Shorten(text), dir)
	}
	return fmt.Errorf("%q: folder %q has no Go files; the folders with Go files are %s", gen.Shorten(text), dir, joinFew(others))
}

// userFolders returns the folders of the user's packages that tools can import.
func (e *Engine) userFolders() []string {
	ours := []string{"cmd", "core", "generators", "prompts", "resources", "tools"}
	var found []string
	for _, dir := range e.before.Dirs() {
		first, _, _ := strings.Cut(dir, "/")
		pkg := e.before.Package(dir, nil)
		if slices.Contains(ours, first) || pkg == nil || len(pkg.Files) == 0 || pkg.Name == "main" || !typecheck.MayImport(e.toolsPath(), e.checker.ImportPath(dir)) {
			continue
		}
		found = append(found, asFolder(dir))
	}
	return found
}

func joinFew(words []string) string {
	const most = 8
	if len(words) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	}
	return strings.Join(words, ", ")
}

func (e *Engine) feature(ctx context.Context, name string) *gen.Feature {
	place := derive.FeaturePlace(path.Join(derive.Features, name))
	if name == "" || !slices.Contains(derive.Places(e.before), place) {
		return nil
	}
	feature := &gen.Feature{Name: name, Dir: place.Dir}
	for _, file := range e.before.Files(place.Dir) {
		if !file.IsTest() && !file.IsDerived() {
			feature.Declared = append(feature.Declared, file.Names()...)
			feature.Strings = append(feature.Strings, stringTypes(file.Syntax)...)
		}
	}
	slices.Sort(feature.Declared)
	packages, err := e.deriver.Packages(ctx, e.before, []derive.Place{place})
	if err != nil || len(packages[0].Problems) > 0 {
		return feature // derive reports the errors
	}
	for _, c := range packages[0].Components {
		part := gen.FeatureTool{Type: c.Func, Name: c.Name, EventType: c.EventType, Fields: e.fields(c)}
		switch c.Kind {
		case derive.Command:
			feature.Commands = append(feature.Commands, part)
		case derive.Query:
			feature.Queries = append(feature.Queries, part)
		}
	}
	return feature
}

// stringTypes returns the names of types that are declared as string.
func stringTypes(file *ast.File) []string {
	var names []string
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok && spec.TypeParams == nil && types.ExprString(spec.Type) == "string" {
				names = append(names, spec.Name.Name)
			}
		}
	}
	return names
}

func (e *Engine) fields(c derive.Component) []gen.StructField {
	var fields []gen.StructField
	ast.Inspect(e.before.File(c.File).Syntax, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != c.Func {
			_, inside := n.(*ast.BlockStmt)
			return !inside
		}
		list, ok := spec.Type.(*ast.StructType)
		if !ok {
			return false
		}
		for _, field := range list.Fields.List {
			f := gen.StructField{Type: types.ExprString(field.Type)}
			if field.Tag != nil {
				f.Tag, _ = strconv.Unquote(field.Tag.Value)
			}
			if len(field.Names) == 0 {
				fields = append(fields, f)
			}
			for _, name := range field.Names {
				f.Name = name.Name
				fields = append(fields, f)
			}
		}
		return false
	})
	return fields
}

// String formats the result as text, without diffs.
func (r *Result) String() string {
	var out strings.Builder
	for _, notice := range r.Notices {
		fmt.Fprintf(&out, "notice: %s\n", notice)
	}
	fmt.Fprintf(&out, "%s\n", r.Headline())
	if r.isRefused() {
		for _, d := range r.Refused {
			fmt.Fprintf(&out, "  %s\n", d)
		}
		return out.String()
	}
	for _, change := range r.Parts {
		fmt.Fprintf(&out, "  %s\n", change)
	}
	for _, f := range r.Files {
		note := ""
		if f.Derived && path.Ext(f.Path) == ".go" { // not go.mod, which is also yours
			note = " (derived)"
		}
		fmt.Fprintf(&out, "  %s  %s%s\n", f.Action, f.Path, note)
	}
	if r.ToolsList != nil {
		fmt.Fprintln(&out, r.ToolsList)
	}
	if r.Trial != nil {
		fmt.Fprintln(&out, r.Trial)
	}
	for _, d := range r.Refused {
		fmt.Fprintf(&out, "refused: %s\n", d)
	}
	for _, d := range append(slices.Clone(r.Impure), r.Warnings...) {
		fmt.Fprintf(&out, "warning: %s\n", d)
	}
	if len(r.Diagnostics) > 0 {
		fmt.Fprintf(&out, "Errors that existed before:\n")
		for _, d := range r.Diagnostics {
			fmt.Fprintf(&out, "  %s\n", d)
		}
	}
	if len(r.Next) > 0 {
		fmt.Fprintf(&out, "Next:\n")
		for _, next := range r.Next {
			fmt.Fprintf(&out, "  %s\n", next)
		}
	}
	return out.String()
}

// isRefused reports whether a sync changed nothing because of errors.
func (r *Result) isRefused() bool {
	return r.Action == actionSync && len(r.Files) == 0 && len(r.Refused) > 0
}

// Headline describes the result in one line.
func (r *Result) Headline() string {
	done := map[string][2]string{
		"generate": {"Generated", "Would generate"},
		"destroy":  {"Destroyed", "Would destroy"},
		"undo":     {"Undid", "Would undo"},
		"sync":     {"Derived", "Would derive"},
		"add":      {"Added", "Would add"},
		"remove":   {"Removed", "Would remove"},
	}[r.Action]
	verb := done[0]
	if r.DryRun {
		verb = done[1]
	}
	what := strings.TrimSpace(r.Kind + " " + r.Name)
	switch {
	case r.isRefused():
		return "Nothing was changed: petrock cannot derive from these packages:"
	case r.Action == "sync" && len(r.Files) == 0:
		return "All derived files are up to date."
	case r.Action == "sync":
		what = count(len(r.Files), "file")
	case r.Action == "undo":
		what = r.Undoes
	}
	if r.Operation != "" {
		return fmt.Sprintf("%s %s (operation %s):", verb, what, r.Operation)
	}
	return fmt.Sprintf("%s %s:", verb, what)
}

// String formats the size as text.
func (s *Size) String() string {
	verb := "take"
	if s.Tools == 1 {
		verb = "takes"
	}
	return fmt.Sprintf("The %s %s about %d tokens (%d bytes) of a model's context.", count(s.Tools, "tool"), verb, s.Tokens, s.Bytes)
}

// String formats the result of the examples as text.
func (t *Trial) String() string {
	if !t.Ran {
		return "Examples were not run."
	}
	what := "examples"
	if !slices.ContainsFunc(t.Passed, func(name string) bool { return !strings.HasPrefix(name, "Test") }) {
		what = "tests" // without examples, Passed has the name of the test
	}
	text := fmt.Sprintf("%s passed: %s", what, strings.Join(t.Passed, ", "))
	if len(t.Unenforced) > 0 {
		text += " (this system could not enforce: " + strings.Join(t.Unenforced, "; ") + ")"
	}
	if t.Printed != "" {
		text += "\nOutput (the server writes it to stderr):\n  " + strings.ReplaceAll(strings.TrimSpace(t.Printed), "\n", "\n  ")
	}
	return text
}
