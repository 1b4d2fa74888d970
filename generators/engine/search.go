package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/docs"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Query is what to search for.
type Query struct {
	Pattern string   `json:"pattern"`           // Regular expression; symbol: desk.Loan.Due; for api net/http
	Find    Find     `json:"find,omitempty"`    // Default text
	Files   []string `json:"files,omitempty"`   // Globs: features/**, !*_test.go
	Context int      `json:"context,omitempty"` // Lines around
	Limit   int      `json:"limit,omitempty"`
	Offset  int      `json:"offset,omitempty"`
}

// A Find is what a search finds.
type Find string

// What a search finds: lines that match a regular expression, in files of the project or in pages
// of the documentation; what go doc prints about a package or symbol; where the project declares,
// uses or calls a symbol.
const (
	FindText        Find = "text"
	FindDocs        Find = "docs"
	FindAPI         Find = "api"
	FindDeclaration Find = "declaration"
	FindReferences  Find = "references"
	FindCallers     Find = "callers"
)

// Finds returns what a search can find.
func Finds() []string { return []string{"text", "docs", "api", "declaration", "references", "callers"} }

// Matches are a page of the matches of a search.
type Matches struct {
	OK      bool    `json:"ok"`      // Always true
	Matches []Match `json:"matches"` // Sorted by file and line
	Total   int     `json:"total"`   // Number of all matches
	Offset  int     `json:"offset,omitempty"`
}

// A Match is a line that a search found.
type Match struct {
	File   string `json:"file,omitempty"`   // From the project's root, or URI of a documentation page
	Line   int    `json:"line,omitempty"`   // Its number
	Caller string `json:"caller,omitempty"` // The function that calls
	Text   string `json:"text"`             // The line and those around it, with their numbers; a line of go doc
}

// Search searches the project, the documentation or the API of packages. It also works in a project
// that does not compile.
func (e *Engine) Search(ctx context.Context, q Query) (*Matches, error) {
	var found []Match
	var err error
	q.Find, q.Context = cmp.Or(q.Find, FindText), max(0, q.Context)
	switch {
	case q.Pattern == "":
		return nil, terminal.Usagef("pattern is empty; pass a regular expression or, with find, a Go symbol")
	case !slices.Contains(Finds(), string(q.Find)):
		return nil, terminal.Usagef("cannot find %q; find is one of %s", q.Find, strings.Join(Finds(), ", "))
	case q.Find == FindText || q.Find == FindDocs:
		found, err = e.searchText(ctx, q)
	case q.Find == FindAPI:
		found, err = e.searchAPI(ctx, q.Pattern)
	default:
		found, err = e.searchSymbol(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	return &Matches{OK: true, Matches: append([]Match{}, page(found, q.Offset, cmp.Or(q.Limit, 50))...), Total: len(found), Offset: q.Offset}, nil
}

// newMatch returns a line of a file as a match that shows the lines from first to last.
func newMatch(file string, lines []string, line, first, last int) Match {
	m := Match{File: file, Line: line}
	for n := max(1, first); n <= min(len(lines), last); n++ {
		mark := "-"
		if n == line {
			mark = ":"
		}
		m.Text += fmt.Sprintf("%d%s %s\n", n, mark, lines[n-1])
	}
	m.Text = strings.TrimSuffix(m.Text, "\n")
	return m
}

func linesOf(text []byte) []string {
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
}

func (e *Engine) searchText(ctx context.Context, q Query) (found []Match, err error) {
	pattern, err := regexp.Compile(q.Pattern)
	if err != nil {
		return nil, terminal.Usagef(`%w; to find a special character such as ( itself, write \(`, err)
	}
	files := newSelection(q.Files)
	search := func(name string, text []byte) {
		lines := linesOf(text)
		for i, line := range lines {
			if pattern.MatchString(line) {
				first := i + 1 - q.Context
				if q.Find == FindDocs && strings.HasPrefix(line, "#") {
					first = i + 1 // what precedes a heading belongs to another section
				}
				found = append(found, newMatch(name, lines, i+1, first, i+1+q.Context))
			}
		}
	}
	if q.Find == FindDocs {
		for _, page := range docs.Pages() {
			if files.has(page.Topic) {
				search("petrock://docs/"+page.Topic, []byte(page.Text))
			}
		}
		return found, nil
	}
	names, err := e.selectFiles(files)
	for _, name := range names {
		if text, err := e.readFileOrFolder(name); err == nil && ctx.Err() == nil && files.includes(name, text) {
			search(name, text)
		}
	}
	return found, err
}

// A selection is the files that globs select. ** matches any number of folders. A glob without a
// slash matches names in all folders, one without wildcards also folders. Those that start with !
// exclude files.
type selection struct {
	globs              string // those that include, one a line
	included, excluded *regexp.Regexp
}

var braces = regexp.MustCompile(`\\{[^{}]*\\}`) // after QuoteMeta

func newSelection(globs []string) (s selection) {
	translate := strings.NewReplacer(`/\*\*/`, `/(.*/)?`, `\*\*/`, `(.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`)
	patterns := map[bool][]string{} // by whether they exclude
	for _, glob := range globs {
		glob, excludes := strings.CutPrefix(glob, "!")
		pattern := translate.Replace(regexp.QuoteMeta(path.Clean(glob)))
		pattern = braces.ReplaceAllStringFunc(pattern, func(list string) string {
			return "(" + strings.ReplaceAll(list[2:len(list)-2], ",", "|") + ")"
		})
		if !strings.Contains(glob, "/") {
			pattern = "(.*/)?" + pattern
		}
		if !isGlob(glob) {
			pattern += "(/.*)?"
		}
		if patterns[excludes] = append(patterns[excludes], pattern); !excludes {
			s.globs += glob + "\n"
		}
	}
	s.included = regexp.MustCompile("^(" + cmp.Or(strings.Join(patterns[false], "|"), ".*") + ")$")
	s.excluded = regexp.MustCompile("^(" + strings.Join(patterns[true], "|") + ")$")
	return s
}

func isGlob(name string) bool { return strings.ContainsAny(name, "*?{") }

func (s selection) has(name string) bool {
	return s.included.MatchString(name) && !s.excluded.MatchString(name)
}

// includes reports whether a file or folder is text that is neither petrock's nor derived nor data,
// or a glob names it. Names of folders end with a slash.
func (s selection) includes(name string, text []byte) bool {
	first, _, _ := strings.Cut(name, "/")
	switch {
	case slices.Contains(append(PetrockFolders(), "data", "vendor", "node_modules"), first) && first != name:
		return strings.Contains("\n"+strings.ReplaceAll(s.globs, "\n", "/\n"), "\n"+first+"/")
	case name == contract.File || name == SumFile || name == "go.sum":
		return strings.Contains(s.globs, name)
	case typecheck.IsDerived(name, text):
		return strings.Contains(s.globs, "_gen.go")
	}
	return !slices.Contains(text, 0)
}

// selectFiles returns the selected files of the project, sorted.
func (e *Engine) selectFiles(s selection) (names []string, err error) {
	err = fs.WalkDir(e.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil && name == ".":
			return err
		case err != nil: // cannot be read, or was just removed
		case d.IsDir() && (base == ".git" || base == ".petrock" || !s.includes(name+"/", nil)):
			return fs.SkipDir
		case d.Type().IsRegular() && s.has(name):
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// searchAPI returns the lines that go doc prints about a package or an exported symbol. The package
// is one of the standard library or one that the project uses; its path may lack the beginning.
func (e *Engine) searchAPI(ctx context.Context, name string) (found []Match, err error) {
	e.step("running go doc")
	o := process.RunOptions{Dir: e.project.Root, Env: append(os.Environ(), "GOPROXY=off")} // only modules that are downloaded
	list, _, err := process.Run(ctx, o, "go", "list", "-e", "-deps", "-f", "{{.ImportPath}}\t{{.Dir}}", "./...", "std")
	if len(list) == 0 {
		return nil, err
	}
	at := strings.LastIndex(name, "/") + 1
	base, symbol, _ := strings.Cut(name[at:], ".")
	imported, dir := "", ""
	for _, line := range linesOf(list) {
		other, folder, _ := strings.Cut(line, "\t")
		if isSuffix := strings.HasSuffix("/"+other, "/"+name[:at]+base); isSuffix && (dir == "" || len(other) < len(imported)) {
			imported, dir = other, folder
		}
	}
	if dir == "" {
		return nil, terminal.Usagef("neither the standard library nor the packages of the project and those that they import have %s; name it like strings.Cut, net/http or core/mcp.AddTool", name[:at]+base)
	}
	// With modules, go doc reads the requirements of all modules, of which some are not downloaded.
	o.Env = append(o.Env, "GO111MODULE=off")
	arguments := slices.DeleteFunc([]string{"doc", dir, symbol}, func(argument string) bool { return argument == "" })
	text, _, err := process.Run(ctx, o, "go", arguments...)
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		list, _, _ := process.Run(ctx, o, "go", "doc", "-short", dir)
		var names []string
		for _, declared := range regexp.MustCompile(`(?m)^(?:func|type|const|var) (\w+)`).FindAllSubmatch(list, -1) {
			names = append(names, name[:at]+base+"."+string(declared[1]))
		}
		return nil, terminal.Usagef("package %s does not declare %s%s", imported, symbol, didYouMean(name, names))
	}
	for i, line := range linesOf(text) {
		if clause, _, ok := strings.Cut(line, " // import "); ok && i == 0 {
			line = clause + " // import " + strconv.Quote(imported)
		}
		if !strings.HasPrefix(line, "WARNING: package source is installed in") { // as it always is
			found = append(found, Match{Text: line})
		}
	}
	return found, err
}

// didYouMean suggests symbols for an unknown one. It is empty if none is similar.
func didYouMean(name string, names []string) string {
	parts := strings.Split(path.Base(name), ".")
	var near, comparable []string
	for _, other := range names {
		all := strings.Split(path.Base(other), ".")
		comparable = append(comparable, strings.Join(all[max(0, len(all)-len(parts)):], "."))
		if strings.EqualFold(all[len(all)-1], parts[len(parts)-1]) {
			near = append(near, other)
		}
	}
	if closest := terminal.Closest(strings.Join(parts, "."), comparable); closest != "" {
		near = []string{names[slices.Index(comparable, closest)]}
	}
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + joinFew(near) + "?"
}

// Short returns the first matches, and the beginning of long ones.
func (m *Matches) Short(limit int) any { return Shorten(m, limit) }

// String returns the matches below the names of their files.
func (m *Matches) String() string {
	var out strings.Builder
	file := ""
	for _, match := range m.Matches {
		if match.File != file {
			file = match.File
			fmt.Fprintln(&out, file)
		}
		if fmt.Fprintln(&out, match.Text); match.Caller != "" {
			fmt.Fprintf(&out, "  in %s\n", match.Caller)
		}
	}
	writePage(&out, len(m.Matches), m.Offset, m.Total, "match")
	return out.String()
}
