package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"slices"
	"strings"
)

// A Change is one file of a project as it is and as it would be. No content, nil, means that there
// is no file; an empty file has content that is empty and not nil.
type Change struct {
	Path    string      // from the project's root, with slashes
	Before  []byte      // nil if it is not there
	After   []byte      // nil if it is to go
	Mode    fs.FileMode // permissions of a file that is made; 0 means 0644
	Derived bool        // it belongs to petrock and can be derived again
}

// An Action is what happens to a file.
type Action string

// The actions. None is for a file that stays as it is.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
	None   Action = "none"
)

// Action is what happens to the file.
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

// Hash is the SHA-256 of a file's content, in hexadecimal digits. That of nil, which is no file, is
// empty.
func Hash(data []byte) string {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// SortChanges puts files in the order of their paths. Files of one path stay in the order that they
// are in.
func SortChanges(files []Change) {
	slices.SortStableFunc(files, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
}
