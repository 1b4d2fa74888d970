package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/parts"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Listing is the components and parts of a project.
type Listing struct {
	OK         bool                   `json:"ok"`                 // Whether all packages could be read
	Name       string                 `json:"name"`               // Name of the project
	Root       string                 `json:"root"`               // Folder of the project
	Components []derive.Component     `json:"components"`         // Sorted by kind and name
	Parts      []PartStatus           `json:"parts,omitempty"`    // Petrock's optional code: what the project has, and what can be added
	Refused    []typecheck.Diagnostic `json:"refused,omitempty"`  // Errors in packages that could not be read
	Warnings   []typecheck.Diagnostic `json:"warnings,omitempty"` // An operation that was interrupted, or is in progress
	ToolsList  *Size                  `json:"toolsList"`          // Size of tools/list
	Total      int                    `json:"total,omitempty"`    // Of a page: number of all components
	Offset     int                    `json:"offset,omitempty"`   // Of a page: number of components before it
}

// List lists the components of the project, its own generators included. It changes nothing.
func (e *Engine) List(ctx context.Context) (*Listing, error) {
	if err := e.read(ctx, false); err != nil {
		return nil, err
	}
	packages, err := e.deriver.Packages(ctx, e.before, e.onDisk().existingPlaces())
	if err != nil {
		return nil, err
	}
	listing := &Listing{OK: true, Name: e.project.Name, Root: e.project.Root, Components: []derive.Component{}, Refused: []typecheck.Diagnostic{}}
	for _, part := range parts.All() {
		present := isPresent(part, e.before)
		if _, err := e.root.Lstat(part.Archive()); err == nil || present { // else it cannot be added
			listing.Parts = append(listing.Parts, PartStatus{Name: part.Name, Description: part.Description, Present: present, UsedBy: e.partUser(part, e.before)})
		}
	}
	derive.CheckNames(packages, nil)
	made, err := e.onDisk().madePackages(ctx)
	if err != nil {
		return nil, err
	}
	for _, pkg := range slices.Concat(packages, e.unreadPackages(), made, e.onDisk().typePackages()) {
		listing.Refused = append(listing.Refused, pkg.Problems...)
		if len(pkg.Problems) == 0 {
			listing.Components = append(listing.Components, slices.DeleteFunc(pkg.Components, isUnlisted)...)
		}
	}
	slices.SortStableFunc(listing.Components, func(a, b derive.Component) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	listing.OK, listing.Warnings = len(listing.Refused) == 0, e.interrupted()
	promised, err := derive.Contract(packages)
	if err != nil {
		return nil, err
	}
	listing.ToolsList = newSize(promised.Tools)
	return listing, nil
}

// Page returns the listing with the components of a kind, or of all kinds, from an offset.
func (l *Listing) Page(kind string, offset, limit int) *Listing {
	s := *l
	s.Components = slices.Clone(l.Components)
	if kind != "" {
		s.Components = slices.DeleteFunc(s.Components, func(c derive.Component) bool { return string(c.Kind) != kind })
	}
	s.Total, s.Offset = len(s.Components), offset
	s.Components = page(s.Components, offset, limit)
	return &s
}

// Short returns the short form of the listing: kinds, names, files and the first lines of
// descriptions.
func (l *Listing) Short(limit int) any {
	s := Shorten(l, limit)
	s.Parts = nil
	for i, c := range s.Components {
		about, _, _ := strings.Cut(c.Description, "\n")
		s.Components[i] = derive.Component{Kind: c.Kind, Name: c.Name, Description: about, File: c.File, Line: c.Line, URI: c.URI, Internal: c.Internal, Retired: c.Retired}
	}
	return s
}

// String lists the components, one a line.
func (l *Listing) String() string {
	var out strings.Builder
	for _, c := range l.Components {
		fmt.Fprintf(&out, "%s %s, %s:%d: %s\n", c.Kind, c.Label(), c.File, c.Line, c.Description)
	}
	writePage(&out, len(l.Components), l.Offset, l.Total, "component")
	writeLines(&out, "error: ", l.Refused)
	writeLines(&out, "warning: ", l.Warnings)
	if l.ToolsList != nil {
		fmt.Fprintln(&out, l.ToolsList)
	}
	return out.String()
}

// An Inspection is the definition and source of one component.
type Inspection struct {
	OK           bool                   `json:"ok"`                     // Always true
	Component    derive.Component       `json:"component"`              // Its definition, as clients see it
	Declarations string                 `json:"declarations,omitempty"` // Declarations of its file, without function bodies if they are long
	Source       string                 `json:"source,omitempty"`       // Text of its file
	TestFile     string                 `json:"testFile,omitempty"`     // Path of its test file, NAME_test.go; empty if it does not exist
	Test         string                 `json:"test,omitempty"`         // Text of its test file
	Warnings     []typecheck.Diagnostic `json:"warnings,omitempty"`
}

// Inspect returns a component by its client name or Go name. The kind may be empty if the name is
// unique.
func (e *Engine) Inspect(ctx context.Context, kind, name string) (*Inspection, error) {
	if err := e.read(ctx, false); err != nil {
		return nil, err
	}
	if err := e.checkKind(ctx, kind); err != nil {
		return nil, err
	}
	c, pkg, err := e.onDisk().lookUp(ctx, derive.Kind(kind), name)
	if err != nil {
		return nil, err
	}
	shown := &Inspection{OK: true, Component: c, Warnings: []typecheck.Diagnostic{}}
	if text, err := e.root.ReadFile(c.File); err == nil {
		shown.Source, shown.Declarations = string(text), declarations(c.File, text)
	}
	if file := e.before.File(testPath(c.File)); file != nil {
		shown.TestFile, shown.Test = file.Path, string(file.Text)
	}
	for _, d := range pkg.Warnings {
		if d.File == c.File {
			shown.Warnings = append(shown.Warnings, d)
		}
	}
	return shown, nil
}

// Sizes of texts for agents.
const (
	maxDeclarations = 1500    // of the declarations of a component, in bytes
	maxExcerpt      = 1800    // of an excerpt of a file, in bytes
	maxFile         = 1 << 20 // of a whole file, in bytes
)

// declarations returns the declarations of a Go file. If they are long, they have no function
// bodies.
func declarations(name string, text []byte) string {
	parts, _ := outline(name, text, true)
	if all := strings.Join(parts, "\n\n"); len(all) <= maxDeclarations {
		return all
	}
	parts, _ = outline(name, text, false)
	return cutText(strings.Join(parts, "\n\n"), maxDeclarations) + "\n\n// Function bodies are left out: pass file, from and to, or detail: true."
}

// WithoutText returns the inspection without source.
func (i *Inspection) WithoutText() *Inspection {
	s := *i
	s.Declarations, s.Source, s.Test = "", "", ""
	return &s
}

// Short returns the short form of the inspection: the component's own declarations instead of its
// files.
func (i *Inspection) Short(int) any {
	s := *i
	s.Component.Input, s.Component.Output, s.Source, s.Test = nil, nil, "", ""
	return &s
}

// String returns the component's name, and its files, or its declarations in the short form.
func (i *Inspection) String() string {
	var out strings.Builder
	c := i.Component
	fmt.Fprintf(&out, "%s %s, Go name %s, in %s:%d", c.Kind, c.Label(), c.Func, c.File, c.Line)
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
	s.Text = cutText(f.Text, maxExcerpt) + "\n"
	if end := strings.LastIndexByte(f.Text[:maxExcerpt], '\n'); end >= 0 {
		s.Text = f.Text[:end+1]
	}
	s.To = f.From + strings.Count(s.Text, "\n") - 1
	return &s
}

// ReadText returns lines of a text file of the project, or the entries of a folder. Zero values of
// from and to mean the first and the last line.
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

// CheckTypes type-checks the project's own packages in memory, tests included, and returns their
// import paths and errors. It does not check core, generators, cgo and embedded files;
// [typecheck.CheckPackages] does.
func (e *Engine) CheckTypes(ctx context.Context) (packages []string, found []typecheck.Diagnostic, err error) {
	if err := e.read(ctx, false); err != nil {
		return nil, nil, err
	}
	dirs := slices.DeleteFunc(e.before.Dirs(), isPetrockPath)
	for _, dir := range dirs {
		packages = append(packages, e.checker.ImportPath(dir))
	}
	e.step("type-checking")
	found, err = e.checker.Test(ctx, e.before, dirs)
	return packages, e.WithSource(found), err
}

// WithSource adds source lines to diagnostics in Go files of the project, as they were last read.
func (e *Engine) WithSource(found []typecheck.Diagnostic) []typecheck.Diagnostic {
	return withSource(found, e.before)
}
