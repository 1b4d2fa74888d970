package mcptest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// firstDifference describes the first difference of two long results, JSON or text, on a line of its own. It
// is empty for short results, whose difference is easy to see.
func firstDifference(got, want string) string {
	const short = 120
	if len(got)+len(want) < short {
		return ""
	}
	a, b := newLeaves(got), newLeaves(want)
	for _, at := range append(a.order, b.order...) {
		if x, y := a.texts[at], b.texts[at]; x != y {
			same := 0 // bytes
			for same < min(len(x), len(y)) && x[same] == y[same] {
				same++
			}
			return fmt.Sprintf("another result, first at %s: got %s, want %s\nit returns ", strings.TrimPrefix(at, "."), excerpt(x, same), excerpt(y, same))
		}
	}
	return ""
}

// excerpt returns the part of a text around a byte.
func excerpt(text string, at int) string {
	const before, after = 40, 100
	first, last := max(0, at-before), min(len(text), at+after)
	part := text[first:last]
	if first > 0 {
		part = "… " + part
	}
	if last < len(text) {
		part += " …"
	}
	return cmp.Or(strings.ToValidUTF8(part, ""), "nothing")
}

// leaves are the values in a JSON text that are neither objects nor arrays, or the lines of another text.
type leaves struct {
	order []string          // paths, such as .items[0].title
	texts map[string]string // JSON by path
}

func newLeaves(text string) *leaves {
	l := &leaves{texts: map[string]string{}}
	var value any
	if json.Unmarshal([]byte(text), &value) == nil {
		l.add("", value)
		return l
	}
	for i, line := range strings.Split(text, "\n") {
		l.add(fmt.Sprintf("line %d", i+1), line)
	}
	return l
}

func (l *leaves) add(at string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			l.add(at+"."+name, value[name])
		}
	case []any:
		for i, element := range value {
			l.add(fmt.Sprintf("%s[%d]", at, i), element)
		}
	default:
		text, _ := strictjson.Marshal(value) // decoded from JSON, so it can be encoded
		l.order = append(l.order, at)
		l.texts[at] = string(text)
	}
}
