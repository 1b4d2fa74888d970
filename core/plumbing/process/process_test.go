//go:build unix

package process

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startShell runs a script, with a short grace period unless c has one.
func startShell(t *testing.T, script string, c Command) *Process {
	t.Helper()
	c.Program, c.Args, c.Grace = "sh", []string{"-c", script}, cmp.Or(c.Grace, 100*time.Millisecond)
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProcess(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	p := startShell(t, `read line; echo "$line, $WHO"; pwd; echo trouble >&2; exit 3`, Command{Env: map[string]string{"WHO": "Ann"}, Dir: dir, Stderr: &said})
	if _, err := io.WriteString(p.In, "hello\n"); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(p.Out)
	if want := "hello, Ann\n" + dir + "\n"; string(text) != want || err != nil {
		t.Errorf("output %q, %v; want %q and no error", text, err, want)
	}
	<-p.exited
	p.Close()
	if p.ExitState() != "exit status 3" || p.Stderr() != "trouble" || said.String() != "trouble\n" {
		t.Errorf(`exit state %q, standard error %q, passed on %q; want "exit status 3", "trouble" and "trouble\n"`, p.ExitState(), p.Stderr(), said.String())
	}
}

// Only the end of a long standard error is kept.
func TestProcessStderr(t *testing.T) {
	t.Parallel()
	p := startShell(t, `i=0; while [ $i -lt 3000 ]; do echo "line $i" >&2; i=$((i+1)); done`, Command{})
	<-p.exited
	p.Close()
	if said := p.Stderr(); len(said) > 9000 || !strings.HasPrefix(said, "… ") || !strings.HasSuffix(said, "line 2999") {
		t.Errorf(`%d bytes: %.20q … %q; want at most 9000 that start with "… " and end with "line 2999"`, len(said), said, said[max(0, len(said)-20):])
	}
}

func TestProcessClose(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script, state string
		grace         time.Duration // long where the script exits in time, even on a loaded machine
	}{
		"closed input": {`echo; cat`, "exit status 0", time.Minute},
		"SIGTERM":      {`trap 'exit 5' TERM; echo; while :; do sleep 0.01; done`, "exit status 5", 2 * time.Second},
		"SIGKILL":      {`trap '' TERM; echo; while :; do sleep 0.01; done`, "signal: killed", 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startShell(t, test.script, Command{Grace: test.grace})
			if _, err := io.ReadFull(p.Out, make([]byte, 1)); err != nil { // the trap is set
				t.Fatal(err)
			}
			if p.ExitState() != "" {
				t.Errorf(`exited early: got %q, want ""`, p.ExitState())
			}
			p.Close()
			if p.ExitState() != test.state {
				t.Errorf("exit state: got %q, want %q", p.ExitState(), test.state)
			}
		})
	}
}

// An interrupt shortens the grace period.
func TestInterruptedClose(t *testing.T) {
	t.Parallel()
	interrupted := make(chan struct{})
	p := startShell(t, `trap '' TERM; echo; while :; do sleep 0.01; done`, Command{Grace: time.Hour, Interrupted: interrupted})
	if _, err := io.ReadFull(p.Out, make([]byte, 1)); err != nil { // the trap is set
		t.Fatal(err)
	}
	close(interrupted)
	if p.Close(); p.ExitState() != "signal: killed" {
		t.Errorf("exit state: got %q, want signal: killed", p.ExitState())
	}
}

// A signal also ends the children of a process.
func TestProcessCloseChildren(t *testing.T) {
	p := startShell(t, `sleep 100 & echo $!; trap '' TERM; while :; do sleep 0.01; done`, Command{})
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
			return // its parent, which would wait for it, is gone
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

// Children that hold the output of a process do not delay its end, and end with it.
func TestProcessOrphans(t *testing.T) {
	t.Parallel()
	p := startShell(t, `sleep 20 & exit 0`, Command{})
	began := time.Now()
	if _, err := io.ReadAll(p.Out); err != nil && !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
	<-p.exited
	p.Close()
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v, want at most %v", took, 15*time.Second)
	}
	for deadline := time.Now().Add(10 * time.Second); syscall.Kill(-p.PID(), 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the child still runs at the deadline %v, want it ended", deadline)
		}
	}
}

func TestProcessStartError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ program, dir, want string }{
		{"no-such-program", "", "not found in PATH; install it"},
		{"sh", "/no/such/folder", "no such directory: /no/such/folder"},
		{file, "", "permission denied"},
		{filepath.Join(filepath.Dir(file), "none"), "", "no such file"},
	} {
		if _, err := Start(Command{Program: test.program, Dir: test.dir}); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.program) {
			t.Errorf("%s in %q: %v; want an error containing %q and %q", test.program, test.dir, err, test.want, test.program)
		}
	}
}
