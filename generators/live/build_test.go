package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// mainFile returns a program that prints a text.
func mainFile(text string) string {
	return fmt.Sprintf("package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(%q) }\n", text)
}

// newTestBuilder writes a module with the programs cmd/one and cmd/two, and returns its folder and
// a builder for it.
func newTestBuilder(t *testing.T) (string, *builder) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, "go.mod", "module tiny\n\ngo 1.26\n", "cmd/one/main.go", mainFile("1"), "cmd/two/main.go", mainFile("2"))
	b, err := newBuilderIn(root, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(b.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the executables still exist: err = %v, want %v", err, os.ErrNotExist)
		}
	})
	return root, b
}

// mustBuild builds programs that compile.
func mustBuild(t *testing.T, b *builder, programs ...string) map[string]program {
	t.Helper()
	built := map[string]program{}
	for _, name := range programs {
		p, err := b.build(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		built[name] = p
	}
	return built
}

// checkOutput runs a program, and compares its output.
func checkOutput(t *testing.T, p program, want string) {
	t.Helper()
	if out, err := exec.Command(p.path).Output(); string(out) != want || err != nil {
		t.Errorf("%s: output %q, want %q, %v", filepath.Base(p.path), out, want, err)
	}
}

func TestBuild(t *testing.T) {
	t.Parallel()
	root, b := newTestBuilder(t)
	first := mustBuild(t, b, "cmd/one", "cmd/two")
	checkOutput(t, first["cmd/one"], "1")
	checkOutput(t, first["cmd/two"], "2")

	began := time.Now()
	again := mustBuild(t, b, "cmd/one", "cmd/two")
	t.Logf("nothing to do: %v", time.Since(began).Round(time.Millisecond))
	if again["cmd/one"] != first["cmd/one"] || again["cmd/two"] != first["cmd/two"] {
		t.Errorf("nothing has changed, but the programs were %v and are %v", first, again)
	}

	write(t, root, "cmd/one/main.go", mainFile("one"))
	changed := mustBuild(t, b, "cmd/one", "cmd/two")
	if changed["cmd/one"].path == first["cmd/one"].path || changed["cmd/one"].id == first["cmd/one"].id || changed["cmd/two"] != first["cmd/two"] {
		t.Errorf("cmd/one has changed: the programs were %v and are %v; want a new path and id of cmd/one, and cmd/two as before", first, changed)
	}
	checkOutput(t, first["cmd/one"], "1") // it may still be in use
	checkOutput(t, changed["cmd/one"], "one")

	write(t, root, "cmd/one/main.go", mainFile("1"))
	back := mustBuild(t, b, "cmd/one")["cmd/one"]
	if back != first["cmd/one"] {
		t.Errorf("after the change was reverted, build = %v, want %v", back, first["cmd/one"])
	}
	b.release(back)
	if _, err := os.Stat(back.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a released executable: err = %v, want %v", err, os.ErrNotExist)
	}
	fresh := mustBuild(t, b, "cmd/one")["cmd/one"]
	if fresh != back {
		t.Errorf("after a release, build = %v, want %v", fresh, back)
	}
	checkOutput(t, fresh, "1")
}

// A syntax error and a type error come and go. The other program is built meanwhile.
func TestBuildErrors(t *testing.T) {
	t.Parallel()
	root, b := newTestBuilder(t)
	first := mustBuild(t, b, "cmd/one", "cmd/two")
	for i, test := range []struct{ text, want string }{
		{"package main\n\nfunc main() {\n", "cmd/one/main.go:4:1: syntax error"},
		{"package main\n\nfunc main() { nonsense() }\n", "cmd/one/main.go:3:15: undefined: nonsense"},
		{"package main\n\nimport _ \"tiny/none\"\n\nfunc main() {}\n", "cmd/one/main.go:3:8: package tiny/none is not in std"},
	} {
		text := strconv.Itoa(i)
		write(t, root, "cmd/one/main.go", test.text, "cmd/two/main.go", mainFile(text))
		_, err := b.build(t.Context(), "cmd/one")
		if output, ok := strings.CutPrefix(fmt.Sprint(err), "cmd/one does not compile:\n"); !ok || !strings.Contains(output, test.want) || strings.Contains(output, root) {
			t.Errorf(`got %v; want a build failure that starts with "cmd/one does not compile:", contains %q and does not name the folder %s`, err, test.want, root)
		}
		checkOutput(t, mustBuild(t, b, "cmd/two")["cmd/two"], text)
	}
	write(t, root, "cmd/one/main.go", mainFile("1"), "cmd/two/main.go", mainFile("2"))
	last := mustBuild(t, b, "cmd/one", "cmd/two")
	if last["cmd/one"] != first["cmd/one"] || last["cmd/two"].id != first["cmd/two"].id {
		t.Errorf("the errors are gone: the programs were %v and are %v; want the same cmd/one, and cmd/two with the same id", first, last)
	}
}

// Two builders of a project do not disturb each other. A new builder removes the executables of
// processes that have ended.
func TestBuilders(t *testing.T) {
	t.Parallel()
	root, first := newTestBuilder(t)
	folder := filepath.Dir(first.dir)
	ended := exec.Command("go", "version")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	stale := strconv.Itoa(ended.Process.Pid) + "-123"
	write(t, folder, stale+"/out/one", "x", "other/file", "x")
	second, err := newBuilderIn(root, folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer second.close()
	if _, err := os.Stat(filepath.Join(folder, stale)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of a process that has ended: err = %v, want %v", err, os.ErrNotExist)
	}
	if _, err := os.Stat(filepath.Join(folder, "other", "file")); err != nil {
		t.Error(err)
	}
	var running sync.WaitGroup
	results := make([]program, 4)
	for i, b := range []*builder{first, second} {
		running.Go(func() {
			for range 2 {
				built, err := b.build(t.Context(), "cmd/one")
				if err != nil {
					t.Error(err)
				}
				results[i] = built
				i += 2
			}
		})
	}
	running.Wait()
	if results[0] != results[2] || results[0].path == results[1].path {
		t.Errorf("the builds are %v; want the first and the third equal, and the second at another path", results)
	}
	if err := second.close(); err != nil {
		t.Error(err)
	}
	checkOutput(t, results[0], "1")
}

// A cancelled build ends soon, and the next one succeeds.
func TestBuildCancel(t *testing.T) {
	t.Parallel()
	root, b := newTestBuilder(t)
	for i := range 3 {
		write(t, root, "cmd/one/main.go", mainFile(strings.Repeat("x", i)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*40*time.Millisecond)
		if _, err := b.build(ctx, "cmd/one"); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
	}
	checkOutput(t, mustBuild(t, b, "cmd/one")["cmd/one"], "xx")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.build(ctx, "cmd/one"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Cancelling a build ends the children of the go command, also those that ignore interrupts.
func TestBuildCancelChildren(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell and process groups")
	}
	_, b := newTestBuilder(t)
	bin := t.TempDir()
	file := filepath.Join(bin, "pid")
	script := "#!/bin/sh\n(trap '' INT TERM; exec sleep 60) &\necho $! >" + file + "2; mv " + file + "2 " + file + "; wait\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := b.build(ctx, "cmd/one")
		ended <- err
	}()
	pid := 0
	for deadline := time.Now().Add(20 * time.Second); pid == 0 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if pid == 0 {
		t.Fatal("the child did not start")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if !isRunning(pid) || strings.Contains(string(stat), ") Z ") { // killed, but not reaped
			return
		}
	}
	t.Errorf("process %d still runs", pid)
}

func TestBuildWithoutGo(t *testing.T) {
	_, b := newTestBuilder(t)
	t.Setenv("PATH", t.TempDir())
	_, err := b.build(t.Context(), "cmd/one")
	if strings.Count(fmt.Sprint(err), "go command not found in PATH; install Go") != 1 {
		t.Errorf("got %v, want a build failure that says once: go command not found in PATH; install Go", err)
	}
}

// A process that gets only HOME and PATH uses the build cache of the person's shell.
func TestGoEnviron(t *testing.T) {
	for _, name := range goVariables {
		t.Setenv(name, "") // restores it
		os.Unsetenv(name)
	}
	root := t.TempDir()
	record := func() {
		t.Helper()
		if err := RecordGoEnviron(root); err != nil {
			t.Error(err)
		}
	}
	check := func(want ...string) {
		t.Helper()
		var added []string
		for name, value := range goEnviron(root) {
			added = append(added, name+"="+value)
		}
		slices.Sort(added)
		if !slices.Equal(added, want) {
			t.Errorf("added %q, want %q", added, want)
		}
	}
	record()
	if _, err := os.Stat(filepath.Join(root, ".petrock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing to record: err = %v, want %v", err, os.ErrNotExist)
	}
	check()
	t.Setenv("GOCACHE", "/fast/cache")
	t.Setenv("GOFLAGS", "-tags=a -trimpath")
	t.Setenv("SECRET", "x")
	record()
	check()
	t.Setenv("GOFLAGS", "-mod=mod")
	os.Unsetenv("GOCACHE")
	check("GOCACHE=/fast/cache")
	os.Unsetenv("GOFLAGS")
	check("GOCACHE=/fast/cache", "GOFLAGS=-tags=a -trimpath")
	record()
	check()
	t.Setenv("XDG_CACHE_HOME", "/fast")
	record()
	os.Unsetenv("XDG_CACHE_HOME")
	check("XDG_CACHE_HOME=/fast")
}

// Children get the data folder of the server's flag, and a key that differs between supervisors.
// The environment of this process stays as it is.
func TestChildEnviron(t *testing.T) {
	t.Setenv("HELLO_DATA_FILE", "/run/data")
	o := Options{Root: t.TempDir(), Name: "hello", Args: []string{"--data", "/d"}}
	before, environ := os.Environ(), childEnviron(o)
	key := slices.IndexFunc(environ, func(v string) bool { return strings.HasPrefix(v, "HELLO_STATE_KEY=") })
	if key < 0 || slices.Contains(childEnviron(o), environ[key]) {
		t.Errorf("childEnviron() = %q twice, want two values of HELLO_STATE_KEY", environ)
	}
	if !slices.Contains(environ, "HELLO_DATA=/d") || slices.Contains(environ, "HELLO_DATA_FILE=/run/data") {
		t.Errorf("childEnviron() = %q, want HELLO_DATA=/d, and no HELLO_DATA_FILE", environ)
	}
	if !slices.Equal(os.Environ(), before) {
		t.Errorf("after childEnviron, os.Environ() = %q, want %q", os.Environ(), before)
	}
	t.Setenv("HELLO_STATE_KEY", "given")
	if environ := childEnviron(o); !slices.Contains(environ, "HELLO_STATE_KEY=given") {
		t.Errorf("childEnviron() = %q, want HELLO_STATE_KEY=given", environ)
	}
}

// The fingerprint of a feature changes with all code that it is compiled from, and with nothing
// else.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	root, b := newTestBuilder(t)
	list := func() map[string]string {
		t.Helper()
		text, err := b.fingerprints(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, field := range strings.Fields(text) {
			name, fingerprint, _ := strings.Cut(field, "=")
			all[name] = fingerprint
		}
		return all
	}
	if all := list(); len(all) > 0 {
		t.Errorf("without features: list() = %+v, want it empty", all)
	}
	write(t, root,
		"go.mod", "module tiny\n\ngo 1.26\n\nrequire example.com/dep v1.0.0\n\nreplace example.com/dep => ./dep\n",
		"dep/go.mod", "module example.com/dep\n\ngo 1.26\n",
		"dep/dep.go", "package dep\n\nfunc Add(n int) int { return n + 1 }\n",
		"dep2/go.mod", "module example.com/dep\n\ngo 1.26\n",
		"dep2/dep.go", "package dep\n\nfunc Add(n int) int { return n + 2 }\n",
		"core/app/app.go", "package app\n\nfunc Now() int { return 1 }\n",
		"core/app/store/store.go", "package store\n\nimport \"tiny/internal/disk\"\n\nfunc Read() int { return disk.Read() }\n",
		"internal/disk/disk.go", "package disk\n\n//go:noinline\nfunc Read() int { return 1 }\n",
		"internal/near/near.go", "package near\n\nimport \"tiny/internal/far\"\n\n//go:noinline\nfunc Get() int { return far.Get() }\n",
		"internal/far/far.go", "package far\n\n//go:noinline\nfunc Get() int { return 1 }\n",
		"internal/other/other.go", "package other\n\nfunc Get() int { return 1 }\n",
		"features/posts/posts.go", "package posts\n\nimport (\n\t_ \"embed\"\n\n\t\"example.com/dep\"\n\t\"tiny/core/app\"\n\t\"tiny/internal/near\"\n)\n\n//go:embed text.txt\nvar text string\n\nconst limit = 10\n\nfunc Sum() int { return dep.Add(limit) + app.Now() + near.Get() + len(text) }\n",
		"features/posts/text.txt", "text",
		"features/notes/notes.go", "package notes\n\nimport \"tiny/core/app\"\n\nfunc Sum() int { return app.Now() }\n",
		"features/notes/parts/parts.go", "package parts\n",
	)
	before := list()
	if len(before) != 2 || len(before["posts"]) != 32 || len(before["notes"]) != 32 || before["posts"] == before["notes"] {
		t.Fatalf("the fingerprints are %v; want different ones of 32 characters for posts and notes", before)
	}
	for _, test := range []struct{ name, file, old, new, changed string }{
		{"another package", "internal/other/other.go", "return 1", "return 2", ""},
		{"the program", "cmd/one/main.go", `"1"`, `"2"`, ""},
		{"a test", "features/posts/posts_test.go", "", "package posts\n", ""},
		{"a comment", "features/posts/posts.go", "limit = 10", "limit = 10 // items", ""},
		{"a constant", "features/posts/posts.go", "limit = 10", "limit = 11", "posts"},
		{"an embedded file", "features/posts/text.txt", "text", "Text", "posts"},
		{"a new file", "features/posts/more.go", "", "package posts\n\nfunc init() { text = \"\" }\n", "posts"},
		{"a direct import", "internal/near/near.go", "return far", "return 1 + far", "posts"},
		{"an indirect import", "internal/far/far.go", "return 1", "return 2", "posts"},
		{"a module", "dep/dep.go", "n + 1", "n + 3", "posts"},
		{"a version", "go.mod", "=> ./dep\n", "=> ./dep2\n", "notes posts"},
		{"the go line", "go.mod", "go 1.26\n", "go 1.26.0\n", "notes posts"},
		{"core/app", "core/app/app.go", "return 1", "return 2", "notes posts"},
		{"the store", "core/app/store/store.go", "return disk", "return 1 + disk", "notes posts"},
		{"an import of the store", "internal/disk/disk.go", "return 1", "return 2", "notes posts"},
		{"a new feature", "features/users/users.go", "", "package users\n", "notes posts users"},
	} {
		text, _ := os.ReadFile(filepath.Join(root, test.file)) // it may be new
		changed := strings.Replace(string(text), test.old, test.new, 1)
		if changed == string(text) {
			t.Fatalf("%s: the edit left the file as it was: %q", test.name, changed)
		}
		write(t, root, test.file, changed)
		var names []string
		for name, fingerprint := range list() {
			if fingerprint != before[name] {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != test.changed {
			t.Errorf("%s: the fingerprints of %q have changed, want %q", test.name, got, test.changed)
		}
		if text != nil {
			write(t, root, test.file, string(text))
		} else if err := os.RemoveAll(filepath.Join(root, test.file)); err != nil {
			t.Fatal(err)
		}
	}
	if after := list(); !maps.Equal(before, after) {
		t.Errorf("the changes were reverted: %v, %v", before, after)
	}

	outside := t.TempDir()
	write(t, outside, "go.mod", "module example.com/dep\n", "dep.go", "package dep\n\nfunc Add(n int) int { return n }\n")
	write(t, root, "go.mod", "module tiny\n\ngo 1.26\n\nrequire example.com/dep v1.0.0\n\nreplace example.com/dep => "+filepath.ToSlash(outside)+"\n")
	if text, err := b.fingerprints(t.Context()); err == nil || !strings.Contains(err.Error(), "example.com/dep is in") {
		t.Errorf(`a module outside of the project: %q, %v; want an error containing "example.com/dep is in"`, text, err)
	}
	write(t, root, "features/posts/posts.go", "package posts\n\nfunc Sum() int { return nonsense }\n")
	if text, err := b.fingerprints(t.Context()); err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf(`a feature that does not compile: %q, %v; want an error containing "undefined: nonsense"`, text, err)
	}
}
