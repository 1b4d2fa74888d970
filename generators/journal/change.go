package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"slices"
	"strings"
)

// A Change is a file before and after an operation. Content nil means that the file does not exist; an
// empty file has empty, non-nil content.
type Change struct {
	Path    string      // from the project's root, with slashes
	Before  []byte      // nil if it does not exist
	After   []byte      // nil if it is deleted
	Mode    fs.FileMode // permissions of a created file; 0 means 0644
	Derived bool        // it is a derived file
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

// Hash returns the SHA-256 of a file's content in hexadecimal; empty for nil, which is no file.
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
