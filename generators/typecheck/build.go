package typecheck

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/plumbing/process"
)

// Build runs a go command that builds, such as go build or go test -c, and returns compile errors.
// The error is about the go command itself.
func Build(ctx context.Context, o BuildOptions, command ...string) ([]Diagnostic, error) {
	o = o.withDefaults()
	_, errOut, err := o.run(ctx, slices.Concat(command, o.Flags), o.Patterns)
	if err == nil {
		return nil, nil
	}
	result, err := o.diagnoseFailure(err, errOut)
	if err != nil {
		return nil, err
	}
	result.normalize()
	return result.Diagnostics, nil
}

// Diagnose parses the errors that the go command prints when packages do not build.
func (o BuildOptions) Diagnose(output string) []Diagnostic {
	return failure{Err: output}.diagnose("", o.withDefaults())
}

// BuildOptions configure [Build] and [CheckPackages].
type BuildOptions struct {
	Dir      string   // the working directory of the go command
	Roots    []string // folders that file names are relative to; default Dir
	Patterns []string // package patterns; default ./...
	Flags    []string // for the go command, such as -overlay=FILE
	Env      []string // added to the environment, as NAME=value
}

// A BuildResult is the packages of a project and their errors.
type BuildResult struct {
	Module      string       // module path; empty if unknown
	Packages    []string     // import paths, sorted, without test variants
	Programs    []string     // import paths of main packages
	Diagnostics []Diagnostic // compile and link errors
}

// CheckPackages lists and compiles packages, tests included, and links programs if that succeeds.
// The error is about the go command itself; compile errors are in the result.
func CheckPackages(ctx context.Context, o BuildOptions) (*BuildResult, error) {
	o = o.withDefaults()
	if flags, _, err := o.run(ctx, []string{"env", "GOFLAGS"}, nil); err == nil && bytes.Contains(flags, []byte("-mod=mod")) {
		o.Flags = append([]string{"-mod=readonly"}, o.Flags...) // keeps the go command from writing go.mod
	}
	// -e continues after broken packages, -export compiles, -test includes tests.
	args := []string{"list", "-e", "-export", "-test", "-json=Dir,ImportPath,ForTest,Name,GoFiles,CgoFiles,Module,Error,DepsErrors"}
	out, errOut, err := o.run(ctx, append(args, o.Flags...), o.Patterns)
	if err != nil {
		return o.diagnoseFailure(err, errOut)
	}
	result, err := o.parseList(out)
	if err != nil || len(result.Diagnostics) > 0 || len(result.Programs) == 0 {
		return result, err
	}
	_, errOut, err = o.run(ctx, append([]string{"build", "-o", os.DevNull}, o.Flags...), result.Programs)
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		return result, err
	}
	result.Diagnostics = failure{Err: string(errOut)}.diagnose("", o)
	return result, nil
}

func (o BuildOptions) withDefaults() BuildOptions {
	if len(o.Roots) == 0 {
		o.Roots = []string{o.Dir}
	}
	if len(o.Patterns) == 0 {
		o.Patterns = []string{"./..."}
	}
	// Otherwise the go command runs git, and git runs programs that the folder's .git/config names.
	o.Flags = append([]string{"-buildvcs=false"}, o.Flags...)
	return o
}

// diagnoseFailure returns the errors of a failed go command. They are diagnostics of the project if
// one of them names a package or a file, such as go.mod.
func (o BuildOptions) diagnoseFailure(err error, stderr []byte) (*BuildResult, error) {
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		return nil, err
	}
	found := failure{Err: string(stderr)}.diagnose("", o)
	if slices.ContainsFunc(found, func(d Diagnostic) bool { return d.File != "" || d.Package != "" }) {
		return &BuildResult{Diagnostics: found}, nil
	}
	return nil, addOutput(err, stderr)
}

func (o BuildOptions) run(ctx context.Context, args, packages []string) (stdout, stderr []byte, err error) {
	return process.Run(ctx, process.RunOptions{Dir: o.Dir, Env: append(os.Environ(), o.Env...)}, "go", append(args, packages...)...)
}

// DecodeList decodes the JSON values that go list prints.
func DecodeList[T any](out []byte) ([]T, error) {
	var all []T
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var one T
		switch err := decoder.Decode(&one); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("read output of go list: %w", err)
		}
		all = append(all, one)
	}
}

// WriteOverlay writes an overlay for the go command that adds files to the project in root. It
// writes overlay.json and the folder files to dir, and returns the path of the overlay. A nil text
// removes a file.
func WriteOverlay(dir, root string, files map[string][]byte) (overlay string, err error) {
	replace := map[string]string{}
	for name, text := range files {
		name = filepath.FromSlash(name)
		at, written := filepath.Join(root, name), filepath.Join(dir, "files", name)
		if replace[at] = ""; text != nil {
			replace[at] = written
			err = errors.Join(err, os.MkdirAll(filepath.Dir(written), 0o700), os.WriteFile(written, text, 0o600))
		}
	}
	text, jsonErr := json.Marshal(map[string]any{"Replace": replace})
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(err, jsonErr, os.WriteFile(overlay, text, 0o600))
}

// MakeFolders creates the folders of planned packages in the project, because the go command starts
// the assembler, cgo, vet and tests in them. It returns a function that removes those that it has
// created.
func MakeFolders(root string, dirs []string) (remove func(), err error) {
	var made []string
	remove = func() {
		for _, dir := range slices.Backward(made) {
			os.Remove(dir) // fails if it is in use
		}
	}
	for _, dir := range dirs {
		at := root
		for name := range strings.SplitSeq(dir, "/") {
			at = filepath.Join(at, name)
			switch err := os.Mkdir(at, 0o755); {
			case err == nil:
				made = append(made, at)
			case !errors.Is(err, fs.ErrExist):
				return remove, fmt.Errorf("create folder of a planned package: %w", err)
			}
		}
	}
	return remove, nil
}

// A listedPackage is what go list prints for a package.
type listedPackage struct {
	Dir        string
	ImportPath string
	ForTest    string
	Name       string
	GoFiles    []string
	CgoFiles   []string
	Module     *struct{ Path string }
	Error      *failure
	DepsErrors []*failure // errors of its imports, missing packages included
}

// A failure is an error that go list prints.
type failure struct {
	ImportStack []string
	Pos         string
	Err         string
}

func (o BuildOptions) parseList(out []byte) (*BuildResult, error) {
	listed, err := DecodeList[listedPackage](out)
	if err != nil {
		return nil, err
	}
	result := &BuildResult{}
	for _, p := range listed {
		if p.Module != nil && result.Module == "" {
			result.Module = p.Module.Path
		}
		tested, isTest := strings.CutSuffix(p.ImportPath, ".test")
		isVariant := p.ForTest != "" || isTest && slices.Contains(result.Packages, tested)
		if p.Dir != "" && !isVariant { // without a folder, it is a pattern that matches nothing
			result.Packages = append(result.Packages, p.ImportPath)
			if p.Name == "main" && len(p.GoFiles)+len(p.CgoFiles) > 0 {
				result.Programs = append(result.Programs, p.ImportPath)
			}
		}
		for _, f := range append(p.DepsErrors, p.Error) {
			if f != nil {
				result.Diagnostics = append(result.Diagnostics, f.diagnose(p.ImportPath, o)...)
			}
		}
	}
	slices.Sort(result.Packages)
	slices.Sort(result.Programs)
	result.normalize()
	return result, nil
}

// normalize replaces names of test variants in the diagnostics by names of packages, sorts the
// diagnostics, and removes duplicates, which importers report.
func (r *BuildResult) normalize() {
	for i, d := range r.Diagnostics {
		if !slices.Contains(r.Packages, d.Package) {
			d.Package = strings.TrimSuffix(strings.TrimSuffix(d.Package, ".test"), "_test")
		}
		if strings.Contains(d.Package, "...") {
			d.Package = "" // a pattern
		}
		r.Diagnostics[i] = d
	}
	r.Diagnostics = SortDiagnostics(r.Diagnostics)
}

// A Diagnostic is an error or a warning about the project's code. File, line and column are set if
// it has a position; the file is relative to the project, with slashes.
type Diagnostic struct {
	Package string `json:"package,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Lines   string `json:"lines,omitempty"` // Numbered source lines around the position, for results that show them
}

// DiagnosticAt returns a diagnostic of a package at a position.
func DiagnosticAt(fset *token.FileSet, pos token.Pos, pkg, message string) Diagnostic {
	at := fset.PositionFor(pos, false)
	return Diagnostic{Package: pkg, File: at.Filename, Line: at.Line, Column: at.Column, Message: message}
}

// LinesAround returns the numbered lines around a line of a text, with a mark at that line.
//
//	  12 | loud := strings.ToUpper(in.Text)
//	> 13 | return loud
//	  14 | }
func LinesAround(text string, line int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if line < 1 || text == "" {
		return ""
	}
	line = min(line, len(lines))
	const before, after, maxWidth = 3, 2, 200
	first, last := max(1, line-before), min(len(lines), line+after)
	width := len(strconv.Itoa(last))
	var out strings.Builder
	for n := first; n <= last; n++ {
		mark, content := ' ', []rune(strings.ToValidUTF8(strings.ReplaceAll(lines[n-1], "\t", "    "), "\ufffd"))
		if n == line {
			mark = '>'
		}
		if len(content) > maxWidth {
			content = append(content[:maxWidth], '…')
		}
		fmt.Fprintf(&out, "%c %*d | %s\n", mark, width, n, string(content))
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// String formats the diagnostic as a compiler would, in one line.
func (d Diagnostic) String() string {
	message := strings.ReplaceAll(d.Message, "\n\t", "; ")
	text := cmp.Or(d.File, d.Package)
	if text == "" {
		return message
	}
	for _, n := range []int{d.Line, d.Column} {
		if n > 0 {
			text += ":" + strconv.Itoa(n)
		}
	}
	return text + ": " + message
}

// SortDiagnostics sorts diagnostics by position, then by package and message, and removes
// duplicates.
func SortDiagnostics(list []Diagnostic) []Diagnostic {
	slices.SortFunc(list, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Package, b.Package), cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(list)
}

var (
	lineWithPosition = regexp.MustCompile(`^(.+?\.[a-zA-Z]+:\d+(?::\d+)?): (.*)$`) // tools/add.go:3:14: message
	filePosition     = regexp.MustCompile(`^(.*?)(?::(\d+))?(?::(\d+))?$`)         // tools/add.go:3:14
)

// diagnose parses the error of a package, or of a package that it imports. Compiler output has a
// line that names the package, then a line for each error, which indented lines continue.
func (f failure) diagnose(pkg string, o BuildOptions) []Diagnostic {
	if len(f.ImportStack) > 0 {
		pkg = f.ImportStack[len(f.ImportStack)-1]
	}
	pkg, _, _ = strings.Cut(pkg, " ") // a test variant has the name of its test binary in brackets
	text := strings.TrimSpace(f.Err)
	if f.Pos != "" {
		d := Diagnostic{Package: pkg, Message: text}
		d.File, d.Line, d.Column = o.parsePosition(f.Pos)
		return []Diagnostic{d}
	}
	if len(f.ImportStack) > 1 {
		return []Diagnostic{{Package: pkg, Message: text + ": " + strings.Join(f.ImportStack, " → ")}}
	}
	var all []Diagnostic
	for line := range strings.SplitSeq(text, "\n") {
		if name, ok := strings.CutPrefix(line, "# "); ok {
			pkg, _, _ = strings.Cut(strings.Trim(name, "[]"), " ") // go vet prints brackets
			continue
		}
		if strings.HasPrefix(line, "go: ") && strings.HasSuffix(line, ":") {
			continue // a headline
		}
		if (strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " ")) && len(all) > 0 {
			all[len(all)-1].Message += "\n" + line
			continue
		}
		d := Diagnostic{Package: pkg, Message: line}
		if found := lineWithPosition.FindStringSubmatch(line); found != nil {
			d.Message = found[2]
			d.File, d.Line, d.Column = o.parsePosition(found[1])
		}
		all = append(all, d)
	}
	return all
}

// parsePosition parses "tools/add.go:3:14"; line and column may be missing.
func (o BuildOptions) parsePosition(pos string) (file string, line, column int) {
	found := filePosition.FindStringSubmatch(pos)
	file = found[1]
	line, _ = strconv.Atoi(found[2])
	column, _ = strconv.Atoi(found[3])
	if file == "" {
		return "", 0, 0
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(o.Dir, file)
	}
	for _, root := range o.Roots {
		if inside, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(inside) {
			return filepath.ToSlash(inside), line, column
		}
	}
	return filepath.ToSlash(file), line, column
}
