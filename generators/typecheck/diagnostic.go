package typecheck

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Diagnostic is an error or a warning about the project's code. File, line and column are set if it
// has a position; the file is relative to the project, with slashes.
type Diagnostic struct {
	Package string `json:"package,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Lines   string `json:"lines,omitempty"` // Those around the place, with their numbers, where they cannot be looked up
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
	const before, after, widest = 3, 2, 200
	first, last := max(1, line-before), min(len(lines), line+after)
	width := len(strconv.Itoa(last))
	var out strings.Builder
	for n := first; n <= last; n++ {
		mark, words := ' ', []rune(strings.ToValidUTF8(strings.ReplaceAll(lines[n-1], "\t", "    "), "\ufffd"))
		if n == line {
			mark = '>'
		}
		if len(words) > widest {
			words = append(words[:widest], '…')
		}
		fmt.Fprintf(&out, "%c %*d | %s\n", mark, width, n, string(words))
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// String formats the diagnostic as a compiler would.
func (d Diagnostic) String() string {
	switch {
	case d.File == "" && d.Package == "":
		return d.Message
	case d.File == "":
		return d.Package + ": " + d.Message
	case d.Line == 0:
		return d.File + ": " + d.Message
	case d.Column == 0:
		return d.File + ":" + strconv.Itoa(d.Line) + ": " + d.Message
	}
	return d.File + ":" + strconv.Itoa(d.Line) + ":" + strconv.Itoa(d.Column) + ": " + d.Message
}

// Compare orders diagnostics by position, then by package and message.
func (d Diagnostic) Compare(other Diagnostic) int {
	return cmp.Or(
		cmp.Compare(d.File, other.File), cmp.Compare(d.Line, other.Line), cmp.Compare(d.Column, other.Column),
		cmp.Compare(d.Package, other.Package), cmp.Compare(d.Message, other.Message),
	)
}

// in replaces names of test variants by names of packages, and the go command's message about a
// missing package of a module whose path has no dot, which it looks for in the standard library.
func (d Diagnostic) in(r *BuildResult) Diagnostic {
	if !slices.Contains(r.Packages, d.Package) {
		d.Package = strings.TrimSuffix(strings.TrimSuffix(d.Package, ".test"), "_test")
	}
	if strings.Contains(d.Package, "...") {
		d.Package = "" // a pattern
	}
	path, _, ok := strings.Cut(strings.TrimPrefix(d.Message, "package "), " is not in std")
	if ok && strings.HasPrefix(path, r.Module+"/") {
		d.Message = "package " + path + " is not there: the module has no such folder"
	}
	return d
}

// diagnose makes diagnostics of an error of a package, or of one that it imports. The output of a
// compiler has a line that names the package, then one for each error, which indented lines
// continue.
func (f failure) diagnose(pkg string, o BuildOptions) []Diagnostic {
	if len(f.ImportStack) > 0 {
		pkg = f.ImportStack[len(f.ImportStack)-1]
	}
	pkg, _, _ = strings.Cut(pkg, " ") // a variant for tests is called "tools [tools.test]"
	text := strings.TrimSpace(f.Err)
	if f.Pos != "" {
		d := Diagnostic{Package: pkg, Message: text}
		d.File, d.Line, d.Column = o.place(f.Pos)
		return []Diagnostic{d}
	}
	if len(f.ImportStack) > 1 {
		return []Diagnostic{{Package: pkg, Message: text + ": " + strings.Join(f.ImportStack, " → ")}}
	}
	var all []Diagnostic
	for line := range strings.SplitSeq(text, "\n") {
		if name, ok := strings.CutPrefix(line, "# "); ok {
			pkg, _, _ = strings.Cut(name, " ")
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
		if at, message, ok := cutPlace(line); ok {
			d.Message = message
			d.File, d.Line, d.Column = o.place(at)
		}
		all = append(all, d)
	}
	return all
}

// cutPlace splits "tools/add.go:3:14: message".
func cutPlace(line string) (at, message string, ok bool) {
	found := regexp.MustCompile(`^(.+?\.[a-zA-Z]+:\d+(?::\d+)?): (.*)$`).FindStringSubmatch(line)
	if found == nil {
		return "", "", false
	}
	return found[1], found[2], true
}

// place splits "tools/add.go:3:14"; line and column may be missing.
func (o BuildOptions) place(pos string) (file string, line, column int) {
	found := regexp.MustCompile(`^(.*?)(?::(\d+))?(?::(\d+))?$`).FindStringSubmatch(pos)
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
