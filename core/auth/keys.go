package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// A KeyGate is a [Gate] that accepts API keys, as X-Api-Token or as Authorization: Bearer. It
// ignores a bearer token that is not one of the keys, because it may be for another gate.
type KeyGate struct {
	realm  string
	listed []Key                  // keys that do not come from the file
	keys   atomic.Pointer[keySet] // all keys
	file   string                 // the key file; empty if the gate has none
	text   string                 // of the file, when it was last read
}

// A keySet holds the callers by the hashes of their keys. The time of a lookup depends on the hash
// of what a caller sends, so it reveals nothing about the keys.
type keySet map[Sum]*Identity

// Keys returns a gate that accepts the API keys in list. NAME=KEY is a key of the caller NAME, if
// KEY has at least 16 characters and NAME is valid for a [Key]. Any other text is the key of a
// caller key-HASH. The keys bypass scopes. realm is the name of the server in challenges. Errors
// never contain a key.
func Keys(realm string, list []string) (*KeyGate, error) {
	g := &KeyGate{realm: realm}
	for i, text := range list {
		k, err := parseListed(text)
		which := "the key"
		if len(list) > 1 {
			which = fmt.Sprintf("key %d of %d", i+1, len(list))
		}
		if err != nil {
			return nil, fmt.Errorf("%s %w", which, err)
		}
		g.listed = append(g.listed, k)
	}
	g.keys.Store(&keySet{})
	if err := g.replace(nil); err != nil {
		return nil, err
	}
	return g, nil
}

// AddFile makes the gate accept the keys in a file too; see [Key] and [KeyGate.Watch]. Call it
// once, before the gate is used.
func (g *KeyGate) AddFile(file string) error {
	g.file = file
	_, err := g.reload()
	return err
}

const (
	minKeyLength = 16
	generateKey  = "generate a key with openssl rand -hex 32" // the remedy for a weak key
)

func parseListed(text string) (Key, error) {
	if name, key, _ := strings.Cut(text, "="); len(key) >= minKeyLength && isName(name) {
		k := Key{Name: name, Sum: sha256.Sum256([]byte(key))}
		if err := k.check(); err != nil {
			return k, fmt.Errorf("cannot be used: %w", err)
		}
		return k, checkStrength(key)
	}
	sum := sha256.Sum256([]byte(text))
	return Key{Name: "key-" + hex.EncodeToString(sum[:4]), Sum: sum}, checkStrength(text)
}

// checkStrength returns why a text cannot be a key.
func checkStrength(text string) error {
	switch {
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("has white space, control characters or non-ASCII characters; " + generateKey)
	case len(text) < minKeyLength:
		return fmt.Errorf("has %d characters, fewer than %d; %s", len(text), minKeyLength, generateKey)
	}
	return nil
}

// replace makes the gate accept keys, and those that are listed. It ends the streams of all others.
func (g *KeyGate) replace(keys []Key) error {
	next, old := keySet{}, *g.keys.Load()
	for _, k := range slices.Concat(g.listed, keys) {
		if other := next[k.Sum]; other != nil {
			return fmt.Errorf("a key of %s is also a key of %s; remove one of them", k.Name, other.Subject)
		}
		id := old[k.Sum]
		if id == nil || id.Subject != k.Name || !slices.Equal(id.Scopes, k.Scopes) {
			id = &Identity{Subject: k.Name, Scopes: k.Scopes, AllScopes: len(k.Scopes) == 0}
			id.valid, id.revoke = context.WithCancel(context.Background())
		}
		next[k.Sum] = id
	}
	g.keys.Store(&next)
	for sum, id := range old {
		if next[sum] != id {
			id.revoke()
		}
	}
	return nil
}

// Watch reads the file again every second until ctx ends, because not all file systems report
// changes. A key that was removed is refused from then on, and its streams end. While the file is
// not valid, the previous keys are accepted.
func (g *KeyGate) Watch(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for g.file != "" {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		changed, err := g.reload()
		switch callers := g.Callers(); {
		case !changed:
		case err != nil:
			log.Error("reload API keys: the previous ones are still accepted", "file", g.file, "error", err)
		case len(callers) == 0:
			log.Warn("reloaded API keys: there are none, so every caller is refused", "file", g.file)
		default:
			log.Info("reloaded API keys", "file", g.file, "callers", strings.Join(callers, " "))
		}
	}
}

// reload reads the file again, and reports whether its text or the error has changed.
func (g *KeyGate) reload() (changed bool, err error) {
	keys, text, err := readKeys(g.file)
	if err == nil {
		err = g.replace(keys)
	} else {
		text += "\n" + err.Error()
	}
	changed, g.text = text != g.text, text
	return changed, err
}

// Callers returns the names of the callers that have keys.
func (g *KeyGate) Callers() []string {
	var names []string
	for _, id := range *g.keys.Load() {
		names = append(names, id.Subject)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Authenticate implements [Gate].
func (g *KeyGate) Authenticate(r *http.Request) (*Identity, error) {
	tokens, bearers := r.Header["X-Api-Token"], r.Header["Authorization"]
	if len(tokens) > 1 || len(bearers) > 1 {
		return nil, &Refusal{"invalid_request", "send X-Api-Token or Authorization once"}
	}
	bearer, hasBearer := CutBearer(r.Header.Get("Authorization"))
	switch {
	case len(tokens) == 0: // without a bearer token, it is "", which is not a key
		return g.find(bearer), nil
	case hasBearer && subtle.ConstantTimeCompare([]byte(tokens[0]), []byte(bearer)) == 0:
		return nil, &Refusal{"invalid_request", "X-Api-Token and Authorization differ; send one of them"}
	}
	id := g.find(tokens[0])
	if id == nil {
		return nil, &Refusal{"invalid_token", "invalid API key"}
	}
	return id, nil
}

func (g *KeyGate) find(key string) *Identity { return (*g.keys.Load())[sha256.Sum256([]byte(key))] }

// CutBearer returns the token of an Authorization header, and whether its scheme is Bearer. It is
// for gates of your own.
func CutBearer(value string) (token string, ok bool) {
	scheme, token, ok := strings.Cut(value, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.Trim(token, " "), true
}

// Challenge implements [Gate].
func (g *KeyGate) Challenge(code string, scopes []string) string {
	text := fmt.Sprintf("Bearer realm=%q", g.realm)
	if code != "" {
		text += fmt.Sprintf(", error=%q", code)
	}
	if len(scopes) > 0 {
		text += fmt.Sprintf(", scope=%q", strings.Join(scopes, " "))
	}
	return text
}

// Credentials implements [Gate].
func (g *KeyGate) Credentials() string { return "a key as X-Api-Token or as Authorization: Bearer" }

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
