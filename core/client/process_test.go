//go:build unix

package child_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/petrock/petrock/core/child"
)

// shell starts a script, with little patience.
func shell(t *testing.T, script string, o child.Options) *child.Process {
	t.Helper()
	o.Args, o.Patience = []string{"-c", script}, 100*time.Millisecond
	p, err := child.Start("sh", o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSpeaks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	p := shell(t, `read line; echo "$line, $WHO"; pwd; echo trouble >&2; exit 3`, child.Options{Env: []string{"WHO=Ann"}, Dir: dir, Stderr: &said})
	if _, err := io.WriteString(p.In, "hello\n"); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(p.Out)
	if want := "hello, Ann\n" + dir + "\n"; string(text) != want || err != nil {
		t.Errorf("it says %q, %v", text, err)
	}
	<-p.Done()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if p.Ended() != "exit status 3" || p.Said() != "trouble" || said.String() != "trouble\n" {
		t.Errorf("it ended with %q and said %q, %q", p.Ended(), p.Said(), &said)
	}
}

// Only the last of a long standard error is kept.
func TestSaysMuch(t *testing.T) {
	p := shell(t, `i=0; while [ $i -lt 3000 ]; do echo "line $i" >&2; i=$((i+1)); done`, child.Options{})
	<-p.Done()
	p.Close()
	if said := p.Said(); len(said) > 9000 || !strings.HasPrefix(said, "… ") || !strings.HasSuffix(said, "line 2999") {
		t.Errorf("%d bytes: %.20s", len(said), said)
	}
}

func TestEnds(t *testing.T) {
	for name, test := range map[string]struct{ script, ended string }{
		"with its input":    {`cat`, "exit status 0"},
		"when it is told":   {`trap 'exit 5' TERM; while :; do sleep 0.01; done`, "exit status 5"},
		"when it is killed": {`trap '' TERM; while :; do sleep 0.01; done`, "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := shell(t, test.script, child.Options{})
			if p.Ended() != "" {
				t.Errorf("it has ended: %s", p.Ended())
			}
			closed := make(chan error, 2)
			for range 2 {
				go func() { closed <- p.Close() }()
			}
			if err := <-closed; err != nil {
				t.Error(err)
			}
			<-closed
			if p.Ended() != test.ended {
				t.Errorf("it ended with %s", p.Ended())
			}
		})
	}
}

// What a process has started is ended with it, if it has to be told.
func TestEndsAll(t *testing.T) {
	p := shell(t, `sleep 100 & echo $!; trap '' TERM; while :; do sleep 0.01; done`, child.Options{})
	line := make([]byte, 20)
	n, err := p.Out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	var pid int
	for _, c := range strings.TrimSpace(string(line[:n])) {
		pid = 10*pid + int(c-'0')
	}
	for range 100 {
		if err := syscall.Kill(pid, 0); err != nil {
			return
		}
		if state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(line[:n])) + "/stat"); err == nil && strings.Contains(string(state), ") Z ") {
			return // nobody here waits for those of others
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

// The end of a process is seen though something that it has started holds its output.
func TestEndsThoughItsOutputDoesNot(t *testing.T) {
	p := shell(t, `sleep 3 & exit 0`, child.Options{})
	began := time.Now()
	if _, err := io.ReadAll(p.Out); err != nil && !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
	<-p.Done()
	p.Close()
	if took := time.Since(began); took > 2500*time.Millisecond {
		t.Errorf("it took %v", took)
	}
}

func TestDoesNotStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ program, dir, want string }{
		{"no-such-program", "", "no such program in PATH; install it"},
		{"sh", "/no/such/folder", "there is no folder /no/such/folder"},
		{file, "", "permission denied"},
		{filepath.Join(filepath.Dir(file), "none"), "", "no such file"},
	} {
		if _, err := child.Start(test.program, child.Options{Dir: test.dir}); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.program) {
			t.Errorf("%s in %q: %v", test.program, test.dir, err)
		}
	}
}
