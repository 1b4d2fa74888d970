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

// Answers are the choices that define a new project.
type Answers struct {
	Name    string // of the project, and of its server's program
	Module  string // path of the Go module
	Example string // name of an example, or empty
	OAuth   bool   // its server checks bearer tokens
}

// maxNameLength leaves room for the prefixes and suffixes that clients and file systems add.
const maxNameLength = 64

// folders returns the names of folders that a project has or may get, and those that Go treats
// specially.
func folders() []string {
	return []string{
		"bin", "cmd", "core", "data", "features", "generators", "internal", "petrock", "prompts", "resources", "testdata", "tools", "vendor",
	}
}

// CheckName returns an error if a name cannot be the name of a project. The error suggests another.
func CheckName(name string) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("invalid project name %q: %s", gen.Shorten(name), fmt.Sprintf(format, args...))
	}
	switch bad := strings.IndexFunc(name, func(r rune) bool { return !isNameRune(r) }); {
	case name == "":
		return refuse("empty; try hello")
	case bad >= 0:
		return refuse("use only ASCII letters, digits, - and _%s", suggestion(name))
	case !gen.IsLetter(rune(name[0])):
		return refuse("must start with a letter%s", suggestion(name))
	case strings.HasSuffix(name, "-") || strings.HasSuffix(name, "_"):
		return refuse("must end with a letter or a digit%s", suggestion(name))
	case len(name) > maxNameLength:
		return refuse("%d characters long; the limit is %d", len(name), maxNameLength)
	case token.IsKeyword(name):
		return refuse("a Go keyword; try %s-server", name)
	}
	if word := reserved(name); word != "" {
		return refuse("%s; try %s-server", word, strings.ToLower(name))
	}
	if err := module.CheckImportPath(name); err != nil { // such as names of Windows devices
		return refuse("%v; try %s-server", reason(err), name)
	}
	return nil
}

// repositoryURL matches the URL of a repository, and in it the path.
var repositoryURL = regexp.MustCompile(`^(?:[a-z+]+://|git@)(.+?)(?:\.git)?/?$`)

// CheckModule returns an error if a path cannot be a module path. The error suggests another.
func CheckModule(path string) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("invalid module path %q: %s", gen.Shorten(path), fmt.Sprintf(format, args...))
	}
	if path == "" {
		return refuse("empty; try example.com/hello")
	}
	if len(path) > 255 {
		return refuse("%d characters long; the limit is 255", len(path))
	}
	if address := repositoryURL.FindStringSubmatch(path); address != nil {
		return refuse("this is a URL; try %s", strings.Replace(address[1], ":", "/", 1))
	}
	if err := module.CheckImportPath(path); err != nil {
		return refuse("%v; try a path such as example.com/hello", reason(err))
	}
	first, _, more := strings.Cut(path, "/")
	switch {
	case slices.Contains(strings.Split(path, "/"), "vendor"):
		return refuse("Go treats folders named vendor specially")
	case !more && token.IsKeyword(path):
		return refuse("a Go keyword; try example.com/%s", path)
	case !strings.Contains(first, ".") && isStandard(first):
		return refuse("paths that start with %s belong to the standard library; try example.com/%s", first, path)
	case !more && reserved(path) != "":
		return refuse("%s; try example.com/%s", reserved(path), path)
	}
	if _, _, ok := module.SplitPathVersion(path); !ok && first == "gopkg.in" {
		return refuse("paths of gopkg.in end with a version, such as %s.v1", path)
	} else if !ok {
		return refuse("invalid major version suffix; use /v2 or above, or none for version 1")
	}
	return nil
}

// reserved returns the reason why a word cannot be the name of a project, or "".
func reserved(word string) string {
	lower := strings.ToLower(word) // some file systems ignore case
	switch {
	case slices.Contains(folders(), lower):
		return "reserved as the name of a folder"
	case lower == "std" || lower == "main" || lower == "toolchain" || lower == "command-line-arguments" || isStandard(lower):
		return "reserved by Go"
	}
	return ""
}

// suggestion returns a valid name that is similar to an invalid one, as the end of an error. It
// returns "" if the name has letters outside ASCII.
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

// reason returns an error of x/mod without the path, which the message already has.
func reason(err error) error {
	if invalid, ok := err.(*module.InvalidPathError); ok {
		return invalid.Err
	}
	return err
}

func isNameRune(r rune) bool { return gen.IsLetter(r) || gen.IsDigit(r) || r == '-' || r == '_' }

// isStandard reports whether import paths that start with this word belong to the standard library
// or the go command.
func isStandard(word string) bool {
	_, found := slices.BinarySearch(standard(), word)
	return found
}

// standard returns the first elements of the import paths of the standard library, sorted. A test
// compares them with the library.
func standard() []string {
	return []string{
		"archive", "bufio", "builtin", "bytes", "cmd", "cmp", "compress", "container", "context", "crypto",
		"database", "debug", "embed", "encoding", "errors", "expvar", "flag", "fmt", "go", "hash", "html",
		"image", "index", "internal", "io", "iter", "log", "maps", "math", "mime", "net", "os", "path",
		"plugin", "reflect", "regexp", "runtime", "slices", "sort", "std", "strconv", "strings", "structs",
		"sync", "syscall", "testing", "text", "time", "unicode", "unique", "unsafe", "vendor", "weak",
	}
}
