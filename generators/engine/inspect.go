package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/typecheck"
)

// Sizes of texts for agents.
const (
	maxDeclarations = 1500    // of the declarations of a component, in bytes
	maxExcerpt      = 1800    // of an excerpt of a file, in bytes
	maxFile         = 1 << 20 // of a whole file, in bytes
)

// declarations returns the source of a component: its function, or its type with methods and constants, and
// the types of the same file that these use. If it is long, it has no function bodies.
func (e *Engine) declarations(c derive.Component) string {
	file := e.before.File(c.File)
	if file == nil {
		return ""
	}
	own := ownDeclarations(file.Syntax, c.Func)
	render := func(bodies bool) string {
		var parts []string
		for _, decl := range own {
			parts = append(parts, e.sourceOf(file, decl, bodies))
		}
		return strings.Join(parts, "\n\n")
	}
	if text := render(true); len(text) <= maxDeclarations {
		return text
	}
	text := render(false)
	if len(text) > maxDeclarations {
		text = strings.ToValidUTF8(text[:maxDeclarations], "") + " …"
	}
	return text + "\n\n// Function bodies are left out: pass file, from and to, or detail: true."
}

func (e *Engine) sourceOf(file *typecheck.File, decl ast.Decl, bodies bool) string {
	last, after := decl.End(), ""
	if function, ok := decl.(*ast.FuncDecl); ok && function.Body != nil && !bodies {
		last, after = function.Body.Lbrace, "{ … }"
	}
	at := e.before.Fset().File(last)
	return string(file.Text[at.Offset(startOf(decl)):at.Offset(last)]) + after
}

// ownDeclarations returns the declarations of a file that belong to a function, a Type.Method or a type.
func ownDeclarations(file *ast.File, name string) []ast.Decl {
	receiver, method, isMethod := strings.Cut(name, ".")
	wanted := map[string]bool{}
	if !isMethod {
		wanted[name] = true
	}
	picked := map[ast.Decl]bool{}
	for more := true; more; { // until the types that picked declarations use are picked, too
		more = false
		for _, decl := range file.Decls {
			if picked[decl] || !belongs(decl, wanted, receiver, method) {
				continue
			}
			picked[decl], more = true, true
			for node := range ast.Preorder(decl) {
				switch node := node.(type) {
				case *ast.Field: // of a struct, of parameters or of results
					for used := range nodesOf[*ast.Ident](node.Type) {
						wanted[used.Name] = true
					}
				case *ast.TypeSpec:
					wanted[node.Name.Name] = true
				}
			}
			if isMethod {
				delete(wanted, receiver) // it may have many methods
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(file.Decls), func(d ast.Decl) bool { return !picked[d] })
}

func belongs(decl ast.Decl, wanted map[string]bool, receiver, method string) bool {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		of := receiverName(decl)
		return wanted[cmp.Or(of, decl.Name.Name)] || method != "" && of == receiver && decl.Name.Name == method
	case *ast.GenDecl:
		return slices.ContainsFunc(decl.Specs, func(spec ast.Spec) bool {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				return wanted[spec.Name.Name]
			case *ast.ValueSpec:
				of, ok := spec.Type.(*ast.Ident)
				return ok && wanted[of.Name]
			}
			return false
		})
	}
	return false
}

// receiverName returns the type of a method's receiver, without type parameters, or "" for a function.
func receiverName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	for ident := range nodesOf[*ast.Ident](f.Recv.List[0].Type) {
		return ident.Name
	}
	return ""
}

// WithoutText returns the inspection without source.
func (i *Inspection) WithoutText() *Inspection {
	s := *i
	s.Declarations, s.Source, s.Test = "", "", ""
	return &s
}

// Short returns the short form of the inspection: the component's own declarations instead of its files.
func (i *Inspection) Short(most int) any {
	c := &Cutter{Most: most}
	s := *i
	s.Component.Input, s.Component.Output, s.Source, s.Test = nil, nil, "", ""
	s.Warnings = c.Diagnostics(i.Warnings, "warning")
	return &s
}

// String returns the component's name, and its files, or its declarations in the short form.
func (i *Inspection) String() string {
	var out strings.Builder
	c := i.Component
	fmt.Fprintf(&out, "%s %s", c.Kind, c.Name)
	if c.URI != "" {
		fmt.Fprintf(&out, " (%s)", c.URI)
	}
	fmt.Fprintf(&out, ", Go name %s, in %s:%d", c.Func, c.File, c.Line)
	if i.TestFile != "" {
		fmt.Fprintf(&out, ", test in %s", i.TestFile)
	}
	out.WriteString("\n")
	writeLines(&out, "warning: ", i.Warnings)
	if i.Source == "" {
		fmt.Fprintf(&out, "\n%s\n", i.Declarations)
		return out.String()
	}
	fmt.Fprintf(&out, "\n%s:\n\n%s", c.File, i.Source)
	if i.Test != "" {
		fmt.Fprintf(&out, "\n%s:\n\n%s", i.TestFile, i.Test)
	}
	return out.String()
}

// A FileText is lines of a text file of a project.
type FileText struct {
	OK    bool   `json:"ok"`    // Always true
	File  string `json:"file"`  // Path, from the project's root
	From  int    `json:"from"`  // Number of the first line
	To    int    `json:"to"`    // Number of the last line
	Lines int    `json:"lines"` // Number of lines of the file
	Text  string `json:"text"`  // The lines
}

// String returns the lines below a headline.
func (f *FileText) String() string {
	next := ""
	if f.To < f.Lines {
		next = fmt.Sprintf("; pass from: %d to read on", f.To+1)
	}
	return fmt.Sprintf("%s, lines %d to %d of %d%s\n%s", f.File, f.From, f.To, f.Lines, next, f.Text)
}

// Short returns the lines, up to the size of an excerpt.
func (f *FileText) Short(int) any {
	if len(f.Text) <= maxExcerpt {
		return f
	}
	s := *f
	end := strings.LastIndexByte(f.Text[:maxExcerpt], '\n') + 1
	if end == 0 { // a long line
		s.Text, s.To = strings.ToValidUTF8(f.Text[:maxExcerpt], "")+" …\n", f.From
		return &s
	}
	s.Text = f.Text[:end]
	s.To = f.From + strings.Count(s.Text, "\n") - 1
	return &s
}

// ReadText returns lines of a text file of the project, or the entries of a folder. Zero values of from and to
// mean the first and the last line.
func (e *Engine) ReadText(_ context.Context, file string, from, to int) (*FileText, error) {
	file = path.Clean(strings.ReplaceAll(file, `\`, "/"))
	hidden := slices.IndexFunc(strings.Split(file, "/"), func(name string) bool { return name == ".git" || name == ".petrock" })
	switch {
	case !fs.ValidPath(file):
		return nil, terminal.Usagef("read %s: the path is outside of the project; pass a path relative to its root, %s", file, e.project.Root)
	case hidden >= 0:
		return nil, terminal.Usagef("read %s: files of git and petrock are not part of the source; history lists operations", file)
	}
	text, err := e.readFileOrFolder(file)
	switch {
	case isMissing(err):
		return nil, terminal.Usagef("read %s: the file does not exist; pass a path relative to the project's root, or a folder to list it", file)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", file, err)
	case !utf8.Valid(text) || strings.ContainsRune(string(text), 0):
		return nil, fmt.Errorf("read %s: not a text file", file)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	f := &FileText{OK: true, File: file, From: max(from, 1), To: len(lines), Lines: len(lines)}
	if to > 0 {
		f.To = min(to, f.To)
	}
	if f.From > f.To {
		return nil, terminal.Usagef("read %s: no lines from %d to %d; the file has %s", file, f.From, f.To, count(len(lines), "line"))
	}
	f.Text = strings.TrimSuffix(strings.Join(lines[f.From-1:f.To], ""), "\n") + "\n"
	return f, nil
}

func (e *Engine) readFileOrFolder(file string) ([]byte, error) {
	info, err := e.root.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case info.Size() > maxFile:
		return nil, fmt.Errorf("the file has %d bytes, and the limit is %d", info.Size(), maxFile)
	case info.Mode().IsRegular():
		return e.root.ReadFile(file)
	case !info.IsDir():
		return nil, errors.New("not a regular file")
	}
	entries, err := fs.ReadDir(e.root.FS(), file)
	var names []string
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	return []byte(strings.Join(names, "\n")), err
}

// CheckTypes type-checks the project's own packages in memory, tests included, and returns their import paths
// and errors. It does not check core, generators, cgo and embedded files; [typecheck.CheckPackages] does.
func (e *Engine) CheckTypes(ctx context.Context) (packages []string, found []typecheck.Diagnostic, err error) {
	if err := e.read(ctx); err != nil {
		return nil, nil, err
	}
	var dirs []string
	for _, dir := range e.before.Dirs() {
		if !isPetrockPath(dir) {
			dirs = append(dirs, dir)
			packages = append(packages, e.checker.ImportPath(dir))
		}
	}
	e.step("type-checking")
	found, err = e.checker.Test(ctx, e.before, dirs)
	return packages, e.WithSource(found), err
}

// WithSource adds source lines to diagnostics in Go files of the project, as they were last read.
func (e *Engine) WithSource(found []typecheck.Diagnostic) []typecheck.Diagnostic {
	if e.before == nil {
		return found
	}
	return withSource(found, e.before)
}
