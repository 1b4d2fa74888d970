package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

// A Change is a file before and after an operation. Content nil means that the file does not exist;
// an empty file has empty, non-nil content.
type Change struct {
	Path    string      // from the project's root, with slashes
	Before  []byte      // nil if the file does not exist
	After   []byte      // nil if the file is deleted
	Mode    fs.FileMode // permissions of a created file; 0 means 0644
	Derived bool        // whether it is a derived file
}

// An Action is the kind of a change.
type Action string

// The actions. None is for a file that does not change.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
	None   Action = "none"
)

// Action returns the kind of the change.
func (f Change) Action() Action {
	switch {
	case f.Before == nil && f.After == nil:
		return None
	case f.Before == nil:
		return Create
	case f.After == nil:
		return Delete
	case bytes.Equal(f.Before, f.After):
		return None
	}
	return Update
}

// Hash returns the SHA-256 of a file's content in hexadecimal. It is empty for nil: the file does
// not exist.
func Hash(data []byte) string {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// SortChanges sorts changes by path. The sort is stable.
func SortChanges(files []Change) {
	slices.SortStableFunc(files, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
}

// Diff returns the change as a unified diff with three lines of context, for patch and git apply.
// It is empty if the file does not change. Binary content is not shown.
func (f Change) Diff() string {
	if f.Action() == None {
		return ""
	}
	header := "--- " + headerName("a/", f.Path, f.Before) + "\n+++ " + headerName("b/", f.Path, f.After) + "\n"
	if !isText(f.Before) || !isText(f.After) {
		return header + "Binary files differ\n"
	}
	text := string(diff.Diff("", f.Before, "", f.After))
	return header + text[max(0, strings.Index(text, "@@ ")):]
}

// headerName returns a file's name for the header of a diff, quoted if it has special characters.
func headerName(prefix, path string, data []byte) string {
	if data == nil {
		return "/dev/null"
	}
	name := prefix + path
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '"' || r == '\\' }) {
		return strconv.Quote(name)
	}
	if strings.Contains(name, " ") {
		name += "\t" // marks the end of the name, as git does
	}
	return name
}

func isText(data []byte) bool {
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}
