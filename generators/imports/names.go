package imports

import (
	"path"
	"strconv"
	"strings"
)

// lastElement is the last element of an import path.
func lastElement(imported string) string { return path.Base(imported) }

// nameByPath is the name that a path implies: its last element, without a version such as /v2, or .v3
// at gopkg.in.
func nameByPath(imported string) string {
	rest, _ := cutVersion(imported)
	return path.Base(rest)
}

// cutVersion splits a version off a path: an element v2 or higher, or any version after a dot. It is 0
// if there is none.
func cutVersion(imported string) (rest string, version int) {
	at := max(0, strings.LastIndexAny(imported, "/."))
	digits, ok := strings.CutPrefix(imported[at:], "/v")
	least := 2
	if !ok {
		digits, ok = strings.CutPrefix(imported[at:], ".v")
		least = 0
	}
	version, err := strconv.Atoi(digits)
	if !ok || err != nil || version < least || strconv.Itoa(version) != digits {
		return imported, 0
	}
	return imported[:at], version
}

// mentions reports whether one of the last two elements of a path contains a name.
func mentions(imported, name string) bool {
	plain := strings.NewReplacer("-", "", "_", "", ".", "")
	words := strings.Split(strings.ToLower(imported), "/")
	for _, word := range words[max(0, len(words)-2):] {
		if strings.Contains(plain.Replace(word), plain.Replace(strings.ToLower(name))) {
			return true
		}
	}
	return false
}

// below reports whether a path is another one or below it.
func below(imported, parent string) bool {
	return imported == parent || strings.HasPrefix(imported, parent+"/")
}

// enumerate joins words for a sentence.
func enumerate(words []string, and string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + and + " " + words[last]
}
