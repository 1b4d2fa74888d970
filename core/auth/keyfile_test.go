package auth_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/auth"
)

// add adds a key to a file, and returns it.
func add(t *testing.T, file, name string, scopes ...string) string {
	t.Helper()
	k, err := auth.AddKey(file, name, scopes)
	if err != nil {
		t.Fatal(err)
	}
	return k.Key
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A key file has the hashes of keys, and keeps its comments, mode and links.
func TestKeyFile(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "keys"), filepath.Join(dir, "link")
	write(t, file, "# people\n\n")
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("keys", link); err != nil {
		t.Skip(err)
	}
	old, next := add(t, link, "alice"), add(t, link, "alice")
	reader := add(t, link, "reader", "posts:read", "posts:list")
	if old == next || len(old) < 26 {
		t.Errorf("the keys are %q and %q; want two different ones of at least 26 characters", old, next)
	}
	gate, err := auth.Keys("weather", []string{"carol=" + newKey})
	if err != nil {
		t.Fatal(err)
	}
	if err := gate.AddFile(file); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{old: "alice true", next: "alice true", reader: "reader false", newKey: "carol true"} {
		if id := identify(gate, key); id == nil || fmt.Sprint(id.Actor(), " ", id.May("posts:write")) != want || !id.May("posts:read", "posts:list") {
			t.Errorf("%s is the key of %+v, want %s", key, id, want)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if !strings.HasPrefix(string(text), "# people\nalice sha256:") || len(lines) != 5 || !strings.HasSuffix(lines[3], " posts:read posts:list") {
		t.Errorf("the file has %d lines:\n%s\nwant 5, the first two \"# people\" and alice's sha256, the fourth ending with posts:read posts:list", len(lines), text)
	}
	if info, err := os.Lstat(link); err != nil {
		t.Error(err)
	} else if info.Mode().IsRegular() {
		t.Errorf("the link has the mode %v now, want a link", info.Mode())
	}
	if info, err := os.Stat(file); err != nil {
		t.Error(err)
	} else if runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is now %v, want %v", info.Mode().Perm(), os.FileMode(0o640))
	}

	keys, err := auth.ReadKeys(file)
	if err != nil || len(keys) != 3 {
		t.Fatalf("the keys are %v, %v; want three keys and no error", keys, err)
	}
	for _, wrong := range []string{"bob", "sha256:", "sha256:zz", keys[0].Sum.String()[7:], "people"} {
		if revoked, err := auth.RevokeKeys(file, wrong); err == nil {
			t.Errorf("RevokeKeys(%s) = %v and no error, want an error", wrong, revoked)
		}
	}
	if revoked, err := auth.RevokeKeys(file, keys[0].Sum.String()[:20]); err != nil || len(revoked) != 1 || revoked[0].Sum != keys[0].Sum {
		t.Errorf("revoked %v, %v; want the first key (%v) and no error", revoked, err, keys[0])
	}
	if revoked, err := auth.RevokeKeys(link, "alice"); err != nil || len(revoked) != 1 || revoked[0].Sum != keys[1].Sum {
		t.Errorf("revoked %v, %v; want the second key (%v) and no error", revoked, err, keys[1])
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "# people\n"+lines[3]+"\n" {
		t.Errorf("the file is %q, %v; want %q and no error", text, err, "# people\n"+lines[3]+"\n")
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 2 {
		t.Errorf("the folder contains %q, %v; want the file and the link", left, err)
	}
}

// A key file that is not valid, or that others can read, is refused and stays as it is.
func TestBadKeyFiles(t *testing.T) {
	sum := auth.Sum{1}.String()
	for _, test := range []struct {
		text string
		mode os.FileMode
		says string
	}{
		{"alice " + sum, 0o600, ""},
		{"alice " + sum + "\r\n\t# a comment\r\n", 0o440, ""},
		{"", 0o600, ""},
		{"# no keys\nalice " + newKey, 0o600, "line 2 of"},
		{"alice=" + newKey, 0o600, ": not NAME sha256:HEX"},
		{"alice " + sum[:20], 0o600, ": not NAME sha256:HEX"},
		{"alice " + sum + "00", 0o600, ": not NAME sha256:HEX"},
		{"Alice " + sum, 0o600, ": the name is not valid"},
		{"local:me " + sum, 0o600, ": the name is not valid"},
		{"key-1 " + sum, 0o600, ": the name key-1 is reserved"},
		{`alice ` + sum + ` "posts"`, 0o600, ": a scope is not valid"},
		{"alice " + sum + "\nbob " + sum, 0o600, "a key of bob is also a key of alice"},
		{"alice " + sum, 0o644, "chmod 600"},
		{"alice " + sum, 0o604, "chmod 600"},
		{"alice " + sum, 0o620, "chmod 600"},
	} {
		if runtime.GOOS == "windows" && test.mode != 0o600 {
			continue
		}
		file := filepath.Join(t.TempDir(), "keys")
		write(t, file, test.text)
		if err := os.Chmod(file, test.mode); err != nil {
			t.Fatal(err)
		}
		gate, err := auth.Keys("weather", nil)
		if err != nil {
			t.Fatal(err)
		}
		err = gate.AddFile(file)
		if err == nil && test.says != "" || err != nil && (test.says == "" || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), file) && !strings.Contains(err.Error(), "also") || strings.Contains(err.Error(), newKey)) {
			t.Errorf("%q with mode %o: got %v, want %q", test.text, test.mode, err, test.says)
		}
		if test.says == "" || strings.Contains(test.says, "also") { // a file with a duplicate can be mended
			continue
		}
		if _, err := auth.AddKey(file, "alice", nil); err == nil {
			t.Errorf("AddKey to %q with mode %o = nil, want an error", test.text, test.mode)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != test.text {
			t.Errorf("the file is %q, %v; want %q as before", text, err, test.text)
		}
	}
	missing := filepath.Join(t.TempDir(), "keys")
	for _, name := range []string{"", "Bob", "key-1", "anonymous", "local:me"} {
		if _, err := auth.AddKey(missing, name, nil); err == nil {
			t.Errorf("AddKey for %q = nil, want an error", name)
		}
	}
	if _, err := auth.AddKey(missing, "alice", []string{"a\"b"}); err == nil {
		t.Error(`AddKey with the scope "a\"b" = nil, want an error`)
	}
	write(t, missing+".new", "")
	if _, err := auth.AddKey(missing, "alice", nil); err == nil || !strings.Contains(err.Error(), "remove that file") {
		t.Errorf(`while another command changes the keys: got %v; want an error containing "remove that file"`, err)
	}
}

// A logBuffer collects log lines.
type logBuffer struct {
	mu    sync.Mutex
	lines string
}

func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines += string(line)
	return len(line), nil
}

// take returns the lines since the last call.
func (b *logBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := b.lines
	b.lines = ""
	return lines
}

// A gate follows its file. The streams of a revoked key end, and no others. While the file is not
// valid, the previous keys are accepted, which is logged once.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "keys")
		old, bob := add(t, file, "alice"), add(t, file, "bob", "posts:read")
		gate, err := auth.Keys("weather", []string{"carol=" + newKey})
		if err != nil {
			t.Fatal(err)
		}
		if err := gate.AddFile(file); err != nil {
			t.Fatal(err)
		}
		var logged logBuffer
		go gate.Watch(t.Context(), slog.New(slog.NewTextHandler(&logged, nil)))
		after := func(says string) {
			t.Helper()
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if got := logged.take(); strings.Count(got, "\n") != min(len(says), 1) || !strings.Contains(got, says) {
				t.Errorf("logged %q, want %q", got, says)
			}
		}
		stream := func(key string) context.Context {
			t.Helper()
			ctx, stop := auth.UntilExpiry(auth.With(t.Context(), identify(gate, key)))
			t.Cleanup(stop)
			return ctx
		}
		ofOld, ofBob, ofCarol := stream(old), stream(bob), stream(newKey)
		after("")

		next := add(t, file, "alice") // replaces the file
		after("reloaded API keys")
		if was, is := identify(gate, old).Principal(), identify(gate, next).Principal(); is != was {
			t.Errorf("the new key is of %s, the old one of %s; want the same caller", is, was)
		}
		if ofOld.Err() != nil {
			t.Errorf("the stream of the old key has ended: %v", ofOld.Err())
		}
		keys, err := auth.ReadKeys(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := auth.RevokeKeys(file, keys[0].Sum.String()); err != nil {
			t.Fatal(err)
		}
		after("reloaded API keys")
		if id := identify(gate, old); id != nil {
			t.Errorf("the revoked key identifies %v, want nobody", id)
		}
		if ofOld.Err() == nil {
			t.Error("the stream of the revoked key goes on, want it ended")
		}
		ofNext := stream(next)

		good, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, file, "alice "+next+"\n") // in place
		after("the previous ones are still accepted")
		write(t, file, "# still not valid\nalice\n")
		after("line 2 of")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		after("the previous ones are still accepted")
		write(t, file, string(good))
		after("reloaded API keys")
		for _, ctx := range []context.Context{ofBob, ofCarol, ofNext} {
			if ctx.Err() != nil {
				t.Errorf("the stream of a valid key has ended: %v", ctx.Err())
			}
		}

		write(t, file, strings.ReplaceAll(string(good), "posts:read", "posts:write"))
		after("reloaded API keys")
		if ofBob.Err() == nil {
			t.Error("the stream of bob, whose scopes changed, goes on, want it ended")
		}
		if ofNext.Err() != nil {
			t.Errorf("the stream of alice, who is unchanged, has ended: %v", ofNext.Err())
		}
		if id := identify(gate, bob); id.May("posts:read") {
			t.Errorf("bob still has the scope posts:read: %v", id)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		after("the previous ones are still accepted")
		write(t, file, "")
		after("reloaded API keys")
		if ofNext.Err() == nil {
			t.Error("the stream of a key that was in the file goes on, want it ended")
		}
		if ofCarol.Err() != nil {
			t.Errorf("the stream of a key from the environment has ended: %v", ofCarol.Err())
		}
		if id := identify(gate, next); id != nil {
			t.Errorf("a key that was in the file identifies %v, want nobody", id)
		}
		if id := identify(gate, newKey); id == nil {
			t.Error("a key from the environment identifies nobody, want carol")
		}
	})
}
