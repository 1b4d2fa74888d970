package scaffold

import (
	"fmt"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/mod/module"

	"github.com/petrock/petrock/generators/gen"
)

// Answers are what a project is made from.
type Answers struct {
	Name    string // of the project, and of its server's program
	Module  string // path of the Go module
	Example string // what is put over the plain project; empty for nothing
	OAuth   bool   // its server checks bearer tokens
}

// longestName leaves room for the prefixes and suffixes that clients and file systems put around it.
const longestName = 64

// folders are the names of folders that a project has or may get, and of those that Go
// treats specially.
func folders() []string {
	return []string{
		"bin", "cmd", "core", "data", "features", "generators", "internal", "petrock", "prompts", "resources", "testdata", "tools", "vendor",
	}
}

// CheckName says what is wrong with the name of a project, and what would do instead.
func CheckName(name string) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%q cannot be the name of a project: %s", gen.Shorten(name), fmt.Sprintf(format, args...))
	}
	switch bad := strings.IndexFunc(name, func(r rune) bool { return !isNameRune(r) }); {
	case name == "":
		return refuse("it is empty; try hello")
	case bad >= 0:
		return refuse("letters of English, digits, - and _ are what it may be made of%s", suggestion(name))
	case !gen.IsLetter(rune(name[0])):
		return refuse("it has to begin with a letter%s", suggestion(name))
	case strings.HasSuffix(name, "-") || strings.HasSuffix(name, "_"):
		return refuse("it has to end with a letter or a digit%s", suggestion(name))
	case len(name) > longestName:
		return refuse("it has %d characters, and %d is the most", len(name), longestName)
	case token.IsKeyword(name):
		return refuse("it is a keyword of Go; try %s-server", name)
	}
	if word := reserved(name); word != "" {
		return refuse("%s; try %s-server", word, strings.ToLower(name))
	}
	if err := module.CheckImportPath(name); err != nil { // names that Windows keeps for devices, say
		return refuse("%v; try %s-server", reason(err), name)
	}
	return nil
}

// CheckModule says what is wrong with the path of a module, and what would do instead.
func CheckModule(path string) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%q cannot be the path of a module: %s", gen.Shorten(path), fmt.Sprintf(format, args...))
	}
	if path == "" {
		return refuse("it is empty; try example.com/hello")
	}
	if len(path) > 255 {
		return refuse("it has %d characters, and 255 is the most", len(path))
	}
	if address := regexp.MustCompile(`^(?:[a-z+]+://|git@)(.+?)(?:\.git)?/?$`).FindStringSubmatch(path); address != nil {
		return refuse("it is an address; try %s", strings.Replace(address[1], ":", "/", 1))
	}
	if err := module.CheckImportPath(path); err != nil {
		return refuse("%v; a path such as example.com/hello will do", reason(err))
	}
	first, _, more := strings.Cut(path, "/")
	switch {
	case slices.Contains(strings.Split(path, "/"), "vendor"):
		return refuse("Go gives folders called vendor a meaning of their own")
	case !more && token.IsKeyword(path):
		return refuse("it is a keyword of Go; try example.com/%s", path)
	case !strings.Contains(first, ".") && isStandard(first):
		return refuse("paths that begin with %s belong to Go itself; try example.com/%s", first, path)
	case !more && reserved(path) != "":
		return refuse("%s; try example.com/%s", reserved(path), path)
	}
	if _, _, ok := module.SplitPathVersion(path); !ok && first == "gopkg.in" {
		return refuse("paths there end with a version, such as %s.v1", path)
	} else if !ok {
		return refuse("the version at its end is none; /v2 and above are, and version 1 has no ending")
	}
	return nil
}

// reserved says why a single word cannot be the name of a project, or nothing.
func reserved(word string) string {
	lower := strings.ToLower(word) // some file systems do not tell case apart
	switch {
	case slices.Contains(folders(), lower):
		return "that is the name of a folder with a meaning of its own"
	case lower == "std" || lower == "main" || lower == "toolchain" || lower == "command-line-arguments" || isStandard(lower):
		return "Go has that name for itself"
	}
	return ""
}

// suggestion returns a valid name like a bad one, as the end of an error, or "" if letters would be
// lost.
func suggestion(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsLetter(r) && !gen.IsLetter(r) }) {
		return ""
	}
	better := strings.Join(strings.FieldsFunc(name, func(r rune) bool { return !gen.IsLetter(r) && !gen.IsDigit(r) }), "-")
	better = strings.TrimLeftFunc(better, func(r rune) bool { return !gen.IsLetter(r) })
	if better == name || CheckName(better) != nil {
		return "; try hello"
	}
	return "; try " + better
}

// reason is an error of x/mod without the path, which is in the message already.
func reason(err error) error {
	if invalid, ok := err.(*module.InvalidPathError); ok {
		return invalid.Err
	}
	return err
}

func isNameRune(r rune) bool { return gen.IsLetter(r) || gen.IsDigit(r) || r == '-' || r == '_' }

// isStandard reports whether import paths that begin with this word belong to Go: the standard
// library and the go command.
func isStandard(word string) bool {
	_, found := slices.BinarySearch(standard(), word)
	return found
}

// standard lists what the paths of the standard library begin with, sorted. A test holds it
// against the library itself.
func standard() []string {
	return []string{
		"archive", "bufio", "builtin", "bytes", "cmd", "cmp", "compress", "container", "context", "crypto",
		"database", "debug", "embed", "encoding", "errors", "expvar", "flag", "fmt", "go", "hash", "html",
		"image", "index", "internal", "io", "iter", "log", "maps", "math", "mime", "net", "os", "path",
		"plugin", "reflect", "regexp", "runtime", "slices", "sort", "std", "strconv", "strings", "structs",
		"sync", "syscall", "testing", "text", "time", "unicode", "unique", "unsafe", "vendor", "weak",
	}
}
