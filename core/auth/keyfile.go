package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A Key is a line of a key file: NAME sha256:HEX [SCOPE…]. Empty lines and lines that begin with # are
// ignored.
type Key struct {
	// Name is the name of the caller, in events too. Several keys may have the same name, such as an old
	// key and a new one. A name consists of a letter, and letters, digits and . _ -; all letters are
	// lower case. See [IsReservedActor] for names that are refused.
	Name string `json:"name"`

	Sum Sum `json:"hash"`

	// Scopes are the scopes of the key. Without scopes, the key bypasses them.
	Scopes []string `json:"scopes"`
}

// A Sum is the SHA-256 hash of an API key.
type Sum [sha256.Size]byte

func (s Sum) String() string { return "sha256:" + hex.EncodeToString(s[:]) }

// MarshalText returns the text of a key file.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func isName(text string) bool {
	return text != "" && 'a' <= text[0] && text[0] <= 'z' && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

// check returns what is wrong with a key. The text follows a name of the key.
func (k Key) check() error {
	switch {
	case !isName(k.Name):
		return errors.New("has no valid name: begin with a letter, and use lower-case letters, digits and . _ -")
	case IsReservedActor(k.Name):
		return fmt.Errorf("has the name %s, which is reserved; choose another", k.Name)
	case slices.ContainsFunc(k.Scopes, func(scope string) bool { return !IsScope(scope) }):
		return errors.New("has an invalid scope; use printable ASCII characters without quotes and backslashes")
	}
	return nil
}

// parseKey returns the key of a line. ok is false if the line is empty or a comment.
func parseKey(line string) (k Key, ok bool, err error) {
	fields := strings.Fields(line)
	if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
		return k, false, nil
	}
	if len(fields) > 1 {
		digits, isSum := strings.CutPrefix(fields[1], "sha256:")
		sum, err := hex.DecodeString(digits)
		if isSum && err == nil && len(sum) == len(k.Sum) {
			k = Key{fields[0], Sum(sum), fields[2:]}
			return k, true, k.check()
		}
	}
	return k, true, errors.New("is not NAME sha256:HEX [SCOPE…]")
}

// parseKeys returns the keys in the text of a file. Errors never contain a key.
func parseKeys(file string, text []byte) (keys []Key, err error) {
	for i, line := range strings.Split(string(text), "\n") {
		k, ok, err := parseKey(line)
		if err != nil {
			return nil, fmt.Errorf("read keys: line %d of %s %w", i+1, file, err)
		}
		if ok {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// readKeyFile returns the text of a key file. Users other than its owner must not be able to change it,
// and only those of its group may read it, because Kubernetes gives secrets to a group.
func readKeyFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("read keys: %s has mode %04o, so other users can read or change it; run chmod 600 %s", file, mode, file)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	return text, nil
}

// ReadKeys returns the keys in a file, in its order.
func ReadKeys(file string) ([]Key, error) {
	text, err := readKeyFile(file)
	if err != nil {
		return nil, err
	}
	return parseKeys(file, text)
}

// AddKey adds a random key to the end of a file, which it creates if needed. Only the result has the key.
func AddKey(file, name string, scopes []string) (k Key, key string, err error) {
	key = rand.Text() // at least 128 bits
	k = Key{Name: name, Sum: sha256.Sum256([]byte(key)), Scopes: scopes}
	if err := k.check(); err != nil {
		return k, "", fmt.Errorf("add a key: it %w", err)
	}
	return k, key, rewriteKeys(file, func(text string) (string, error) {
		return text + strings.Join(append([]string{name, k.Sum.String()}, scopes...), " ") + "\n", nil
	})
}

// RevokeKeys removes keys from a file, and returns them: all of a name, or the one whose hash begins
// with what, such as sha256:3f9a.
func RevokeKeys(file, what string) (revoked []Key, err error) {
	isSum := strings.HasPrefix(what, "sha256:")
	err = rewriteKeys(file, func(text string) (kept string, err error) {
		for line := range strings.Lines(text) {
			if k, ok, _ := parseKey(line); ok && (k.Name == what || isSum && strings.HasPrefix(k.Sum.String(), what)) {
				revoked = append(revoked, k)
			} else {
				kept += line
			}
		}
		switch {
		case len(revoked) == 0:
			err = fmt.Errorf("revoke %s: no such key in %s", what, file)
		case isSum && len(revoked) > 1:
			err = fmt.Errorf("revoke %s: the hashes of %d keys begin with this; add more digits", what, len(revoked))
		}
		return kept, err
	})
	return revoked, err
}

// rewriteKeys replaces the text of a key file, or creates it. Readers see the old file or the new one,
// which has the owner and the mode of the old one, so that the server can read it. The file .new also
// prevents two changes at the same time.
func rewriteKeys(file string, edit func(text string) (string, error)) (err error) {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	next, err := os.OpenFile(file+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("change keys: %w; if no other command is changing them, remove that file", err)
	} else if err != nil {
		return fmt.Errorf("change keys: %w", err)
	}
	defer func() {
		if err != nil {
			next.Close()
			os.Remove(next.Name())
		}
	}()
	old, err := readKeyFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		old = nil
	} else if err != nil {
		return err
	} else if err := copyOwner(next, file); err != nil {
		return fmt.Errorf("change keys: %w; run this as the owner of %s", err, file)
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		old = append(old, '\n')
	}
	if _, err := parseKeys(file, old); err != nil {
		return err
	}
	text, err := edit(string(old))
	if err != nil {
		return err
	}
	if _, err = next.WriteString(text); err == nil {
		err = next.Sync()
	}
	if err = errors.Join(err, next.Close()); err == nil {
		err = os.Rename(next.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("change keys: %w", err)
	}
	return nil
}
