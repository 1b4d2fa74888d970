package schema

import (
	"fmt"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

const (
	maxProblems = 10 // how many problems an error lists
	maxListed   = 10 // how many names or values a message lists
	maxShown    = 60 // how many bytes of a value or a key a message shows
)

// A Problem is one thing wrong with a value.
type Problem struct {
	Path    strictjson.Path // where; a long key in it is cut
	Message string          // such as "must be at most 100, got 250"
}

func (p Problem) line() string {
	if p.Path == "" {
		return p.Message
	}
	return string(p.Path) + ": " + p.Message
}

// A ValidationError lists the problems of a value in the order of the value's parts.
type ValidationError struct {
	Problems []Problem // the first ten
	More     int       // how many there are besides
}

// Error is one line a problem.
func (e *ValidationError) Error() string {
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, p.line())
	}
	if e.More > 0 {
		lines = append(lines, "and "+count(e.More, "more problem", "more problems"))
	}
	return strings.Join(lines, "\n")
}

// A place is a step from a value to one of its parts, linked to the steps before. The nil
// place is the whole value. Places live on the stack: a path is rendered only for a problem.
type place struct {
	up    *place
	key   []byte // where index is negative
	index int
	name  bool // the key itself, rather than what stands there
}

func (p *place) path() strictjson.Path {
	switch {
	case p == nil:
		return ""
	case p.index < 0:
		return p.up.path().Key(cut(string(p.key)))
	}
	return p.up.path().Index(p.index)
}

// excerpt is JSON for a message: on one line, and cut where it is long.
func excerpt(raw []byte) string {
	return cut(strings.Join(strings.Fields(string(raw)), " "))
}

// cut shortens a long text, between two characters.
func cut(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}

// list joins names for a message, up to a limit.
func list(names []string, separator string) string {
	if more := len(names) - maxListed; more > 0 {
		return strings.Join(names[:maxListed], separator) + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, separator)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
