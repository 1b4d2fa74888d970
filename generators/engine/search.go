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
	"strings"

	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/docs"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Query is what to search for.
type Query struct {
	Pattern string   `json:"pattern"`           // Regular expression, or Go symbol: desk.Loan.Due; for api strings.Cut, net/http
	Find    Find     `json:"find,omitempty"`    // Default text
	Files   []string `json:"files,omitempty"`   // Globs: features/**, !**/*_test.go
	Context int      `json:"context,omitempty"` // Lines around
	Limit   int      `json:"limit,omitempty"`   // Default 50
	Offset  int      `json:"offset,omitempty"`
}

// A Find is what a search finds.
type Find string

// What a search finds: lines that match a regular expression in files of the project or pages of
// the documentation, what go doc prints about a package or symbol, or where the project declares,
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
func Finds() []string {
	return []string{string(FindText), string(FindDocs), string(FindAPI), string(FindDeclaration), string(FindReferences), string(FindCallers)}
}

// Matches are a page of the matches of a search.
type Matches struct {
	OK      bool    `json:"ok"`      // Always true
	Find    Find    `json:"find"`    // What was searched for
	Matches []Match `json:"matches"` // Sorted by file and line
	Total   int     `json:"total"`   // Number of all matches
	Offset  int     `json:"offset,omitempty"`
}

// A Match is a line that a search found.
type Match struct {
	File     string   `json:"file,omitempty"`     // From the project's root, or URI of a documentation page; empty for go doc
	Line     int      `json:"line,omitempty"`     // Its number
	Text     string   `json:"text"`               // The line
	Function string   `json:"function,omitempty"` // Of callers: the function that calls
	Before   []string `json:"before,omitempty"`   // Lines before it
	After    []string `json:"after,omitempty"`    // Lines after it
}

// Search searches the project, the documentation or the API of packages. It also works in a project
// that does not compile.
func (e *Engine) Search(ctx context.Context, q Query) (*Matches, error) {
	q.Find = cmp.Or(q.Find, FindText)
	search := map[Find]func(context.Context, Query) ([]Match, error){
		FindText: e.searchText, FindDocs: e.searchText, FindAPI: e.searchAPI,
		FindDeclaration: e.searchSymbol, FindReferences: e.searchSymbol, FindCallers: e.searchSymbol,
	}[q.Find]
	switch {
	case search == nil:
		return nil, terminal.Usagef("search cannot find %q; choose one of %s", q.Find, strings.Join(Finds(), ", "))
	case q.Pattern == "":
		return nil, terminal.Usagef("the pattern is empty; pass a regular expression, or with find a Go symbol such as tools.Add")
	}
	found, err := search(ctx, q)
	if err != nil {
		return nil, err
	}
	return &Matches{OK: true, Find: q.Find, Matches: append([]Match{}, page(found, q.Offset, cmp.Or(q.Limit, 50))...), Total: len(found), Offset: q.Offset}, nil
}

// newMatch returns a line of a text as a match, with lines around it.
func newMatch(file string, lines []string, line, context int) Match {
	at := line - 1
	return Match{File: file, Line: line, Text: lines[at], Before: lines[max(0, at-context):at], After: lines[line:min(len(lines), line+max(0, context))]}
}

func linesOf(text string) []string {
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
}

// searchText finds lines of the project or of the documentation.
func (e *Engine) searchText(ctx context.Context, q Query) (found []Match, err error) {
	pattern, err := regexp.Compile(q.Pattern)
	if err != nil {
		return nil, terminal.Usagef("pattern: %w; to find a special character such as ( itself, write \\(", err)
	}
	search := func(name, text string) {
		for i, line := range linesOf(text) {
			if pattern.MatchString(line) {
				found = append(found, newMatch(name, linesOf(text), i+1, q.Context))
			}
		}
	}
	if q.Find == FindDocs {
		for _, page := range docs.Pages() {
			if selects(q.Files, page.Topic) {
				search("petrock://docs/"+page.Topic, page.Text)
			}
		}
		return found, nil
	}
	names, err := e.selectFiles(q.Files)
	for _, name := range names {
		if text, err := e.readFileOrFolder(name); err == nil && ctx.Err() == nil && isSearched(q.Files, name, text) {
			search(name, string(text))
		}
	}
	return found, err
}

// selectFiles returns the files of the project that globs select, sorted.
func (e *Engine) selectFiles(globs []string) (names []string, err error) {
	for _, glob := range globs {
		if _, err := path.Match(glob, ""); err != nil {
			return nil, terminal.Usagef("files: %q is not a glob; write [[] for a bracket", glob)
		}
	}
	err = fs.WalkDir(e.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil && name == ".":
			return err
		case err != nil: // cannot be read, or was just removed
		case d.IsDir() && (base == ".git" || base == ".petrock" || !isSearched(globs, name+"/", nil)):
			return fs.SkipDir
		case d.Type().IsRegular() && selects(globs, name):
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// isSearched reports whether a file or folder is searched: a text file that is neither petrock's
// nor derived nor data, unless a glob names it. Paths of folders end with a slash.
func isSearched(globs []string, name string, text []byte) bool {
	isNamed := func(part string) bool {
		return slices.ContainsFunc(globs, func(glob string) bool { return strings.HasPrefix(glob+"/", part) || strings.HasSuffix(glob, part) })
	}
	switch first, _, _ := strings.Cut(name, "/"); {
	case slices.Contains(append(PetrockFolders(), "data", "vendor", "node_modules"), first):
		return isNamed(first + "/")
	case slices.Contains([]string{contract.File, SumFile, "go.sum"}, name):
		return isNamed(name)
	case typecheck.IsDerived(name, text):
		return isNamed("_gen.go")
	}
	return !slices.Contains(text, 0)
}

// selects reports whether globs select a file: at least one matches, unless all exclude files, and
// none that starts with ! does.
func selects(globs []string, name string) bool {
	isSelected := true
	for _, glob := range globs {
		if excluded, ok := strings.CutPrefix(glob, "!"); ok && matchesGlob(excluded, name) {
			return false
		}
	}
	for _, glob := range globs {
		if !strings.HasPrefix(glob, "!") {
			if isSelected = matchesGlob(glob, name); isSelected {
				break
			}
		}
	}
	return isSelected
}

// isGlob reports whether a path is a glob.
func isGlob(name string) bool { return strings.ContainsAny(name, "*?[") }

// matchesGlob reports whether a glob matches a file. ** matches any number of folders. A glob
// without a slash matches names in all folders, and one without wildcards also a folder.
func matchesGlob(glob, name string) bool {
	glob = path.Clean(glob)
	if !isGlob(glob) && strings.HasPrefix(name, glob+"/") {
		return true
	}
	if !strings.Contains(glob, "/") {
		return matchesParts([]string{glob}, []string{path.Base(name)})
	}
	return matchesParts(strings.Split(glob, "/"), strings.Split(name, "/"))
}

func matchesParts(glob, name []string) bool {
	if len(glob) == 0 || len(name) == 0 {
		return len(glob)+len(name) == 0
	}
	if glob[0] == "**" {
		return len(glob) == 1 || matchesParts(glob[1:], name) || matchesParts(glob, name[1:])
	}
	ok, _ := path.Match(glob[0], name[0]) // selectFiles has checked it
	return ok && matchesParts(glob[1:], name[1:])
}

// declaredByDoc matches a line of go doc -short.
var declaredByDoc = regexp.MustCompile(`(?m)^(?:func|type|const|var) (\w+)`)

// searchAPI returns what go doc prints about a package or an exported symbol, in lines.
func (e *Engine) searchAPI(ctx context.Context, q Query) (found []Match, err error) {
	run := func(args ...string) (string, error) {
		o := process.RunOptions{Dir: e.project.Root, Env: append(os.Environ(), "GOPROXY=off")} // only modules that are downloaded
		out, _, err := process.Run(ctx, o, "go", append([]string{"doc"}, args...)...)
		return string(out), err
	}
	e.step("running go doc")
	text, err := run("--", q.Pattern)
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		at := strings.LastIndex(q.Pattern, "/") + 1
		base, _, _ := strings.Cut(q.Pattern[at:], ".")
		pkg := q.Pattern[:at] + base
		list, _ := run("-short", "--", pkg)
		var names []string
		for _, match := range declaredByDoc.FindAllStringSubmatch(list, -1) {
			names = append(names, pkg+"."+match[1])
		}
		return nil, terminal.Usagef("go doc finds no package or symbol %q%s; name it like strings.Cut, net/http or core/mcp.AddTool", q.Pattern, didYouMean(q.Pattern, names))
	}
	for _, line := range linesOf(text) {
		found = append(found, Match{Text: line})
	}
	return found, err
}

// didYouMean returns a suggestion for an error about an unknown symbol, or an empty string.
func didYouMean(symbol string, names []string) string {
	parts := strings.Split(symbol, ".")
	var near []string
	for _, name := range names {
		all := strings.Split(path.Base(name), ".")
		end := strings.Join(all[max(0, len(all)-len(parts)):], ".")
		isSame := strings.EqualFold(all[len(all)-1], parts[len(parts)-1])
		if isSame || distance(strings.ToLower(path.Base(symbol)), strings.ToLower(end)) <= min(2, len(end)/3) {
			near = append(near, name)
		}
	}
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + joinFew(near) + "?"
}

// distance returns how many bytes must be added, removed or replaced to get from one text to
// another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal, row[j+1] = row[j+1], min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Short returns the first matches, with fewer lines after them and without the ends of long lines.
func (m *Matches) Short(limit int) any {
	s := Shorten(m, limit)
	for i := range s.Matches {
		s.Matches[i].Text = cutText(s.Matches[i].Text, (&cutter{limit: limit / 5}).maxText())
	}
	return s
}

// String returns the matches below the names of their files. Numbers of matching lines end with a
// colon.
func (m *Matches) String() string {
	var out strings.Builder
	file, last := "", 0
	for i, match := range m.Matches {
		if match.File != file {
			fmt.Fprintln(&out, match.File)
			file, last = match.File, 0
		}
		for j, line := range slices.Concat(match.Before, []string{match.Text}, match.After) {
			number, mark := match.Line-len(match.Before)+j, "-"
			isNext := i+1 < len(m.Matches) && m.Matches[i+1].File == file && number >= m.Matches[i+1].Line
			switch {
			case file == "":
				fmt.Fprintln(&out, line)
				continue
			case number <= last || number > match.Line && isNext:
				continue // shown with another match
			case number == match.Line:
				mark = ":"
			}
			fmt.Fprintf(&out, "%d%s %s\n", number, mark, line)
			last = number
		}
		if match.Function != "" {
			fmt.Fprintf(&out, "  in %s\n", match.Function)
		}
	}
	writePage(&out, len(m.Matches), m.Offset, m.Total, "match")
	return out.String()
}
