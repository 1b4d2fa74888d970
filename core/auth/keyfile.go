package auth

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A Key is a line of a key file: NAME sha256:HEX [SCOPE…]. Empty lines and lines that begin with #
// are ignored.
type Key struct {
	// Name is the name of the caller. Several keys may have the same name, such as an old key and a
	// new one. It begins with a letter, has only lower-case letters, digits and . _ -, and is not
	// reserved; see [IsReservedActor].
	Name   string   `json:"name"`
	Sum    Sum      `json:"hash"`
	Scopes []string `json:"scopes"`        // without scopes, the key bypasses them
	Key    string   `json:"key,omitempty"` // the key itself, of [AddKey]
}

// A Sum is the SHA-256 hash of an API key.
type Sum [sha256.Size]byte

func (s Sum) String() string { return "sha256:" + hex.EncodeToString(s[:]) }

// MarshalText returns the text of a key file.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func isName(text string) bool {
	return text != "" && 'a' <= text[0] && text[0] <= 'z' && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

// check returns an error if the name or a scope of a key is invalid.
func (k Key) check() error {
	switch {
	case !isName(k.Name):
		return errors.New("the name is not valid: begin with a letter, and use lower-case letters, digits and . _ -")
	case IsReservedActor(k.Name):
		return fmt.Errorf("the name %s is reserved; choose another", k.Name)
	case slices.ContainsFunc(k.Scopes, func(scope string) bool { return !IsScope(scope) }):
		return errors.New("a scope is not valid; use printable ASCII characters without spaces, quotes and backslashes")
	}
	return nil
}

// parseKey returns the key of a line, or nil if the line is empty or a comment. Errors never
// contain a key.
func parseKey(line string) (*Key, error) {
	fields := strings.Fields(line)
	if len(fields) == 0 || fields[0][0] == '#' {
		return nil, nil
	}
	digits, ok := strings.CutPrefix(append(fields, "")[1], "sha256:")
	sum, err := hex.DecodeString(digits)
	if !ok || err != nil || len(sum) != sha256.Size {
		return nil, errors.New("not NAME sha256:HEX [SCOPE…]")
	}
	k := &Key{Name: fields[0], Sum: Sum(sum), Scopes: fields[2:]}
	return k, k.check()
}

// ReadKeys returns the keys in a file, in its order. Users other than its owner must not be able to
// change it, and only those of its group may read it, because Kubernetes gives secrets to a group.
func ReadKeys(file string) ([]Key, error) {
	keys, _, err := readKeys(file)
	return keys, err
}

// readKeys also returns the text of the file.
func readKeys(file string) (keys []Key, text string, err error) {
	raw, err := os.ReadFile(file)
	info, statErr := os.Stat(file)
	if err = cmp.Or(err, statErr); err == nil && runtime.GOOS != "windows" && info.Mode()&0o027 != 0 {
		err = fmt.Errorf("%s has mode %04o, so other users can read or change it; run chmod 600 %s", file, info.Mode().Perm(), file)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read keys: %w", err)
	}
	for i, line := range strings.Split(string(raw), "\n") {
		k, err := parseKey(line)
		if err != nil {
			return nil, string(raw), fmt.Errorf("read keys: line %d of %s: %w", i+1, file, err)
		} else if k != nil {
			keys = append(keys, *k)
		}
	}
	return keys, string(raw), nil
}

// AddKey adds a random key to the end of a file, which it creates if needed. Only the result has
// the key.
func AddKey(file, name string, scopes []string) (Key, error) {
	key := rand.Text() // at least 128 bits
	k := Key{name, sha256.Sum256([]byte(key)), scopes, key}
	if err := k.check(); err != nil {
		return k, fmt.Errorf("add a key: %w", err)
	}
	return k, rewriteKeys(file, func(text string) (string, error) {
		line := strings.Join(append([]string{name, k.Sum.String()}, scopes...), " ")
		return strings.TrimLeft(strings.TrimRight(text, "\n")+"\n"+line+"\n", "\n"), nil
	})
}

// RevokeKeys removes keys from a file, and returns them: all of a name, or the one whose hash
// begins with what, such as sha256:3f9a.
func RevokeKeys(file, what string) (revoked []Key, err error) {
	isSum := strings.HasPrefix(what, "sha256:")
	err = rewriteKeys(file, func(text string) (kept string, err error) {
		for line := range strings.Lines(text) {
			if k, _ := parseKey(line); k != nil && (k.Name == what || isSum && strings.HasPrefix(k.Sum.String(), what)) {
				revoked = append(revoked, *k)
			} else {
				kept += line
			}
		}
		if len(revoked) == 0 || isSum && len(revoked) > 1 {
			err = fmt.Errorf("revoke %s: %d keys in %s match; give a name, or enough digits of a hash to match one", what, len(revoked), file)
		}
		return kept, err
	})
	return revoked, err
}

// rewriteKeys replaces the text of a key file, or creates it. Readers see the old file or the new
// one, which has the owner and the mode of the old one, so that the server can read it. The file
// .new also prevents two changes at the same time.
func rewriteKeys(file string, edit func(text string) (string, error)) error {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	next, err := os.OpenFile(file+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("change keys: %w; if no other command is changing them, remove that file", err)
	} else if err != nil {
		return fmt.Errorf("change keys: %w", err)
	}
	_, text, err := readKeys(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	} else if err == nil && copyOwner(next, file) != nil {
		err = fmt.Errorf("change keys: only the owner of %s can", file)
	}
	if err == nil {
		text, err = edit(text)
	}
	if err == nil {
		_, err = next.WriteString(text)
	}
	if err = errors.Join(err, next.Sync(), next.Close()); err == nil {
		err = os.Rename(next.Name(), file)
	}
	if err != nil {
		os.Remove(next.Name())
	}
	return err
}
