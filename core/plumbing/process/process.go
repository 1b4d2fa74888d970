// Package process runs programs as child processes. [Start] starts a program that talks over
// standard input and output; when it exits or is closed, its children are killed too. [Run] waits
// for a program and returns its output. The package is plumbing for package client and petrock's
// own generators and commands; servers use os/exec.
package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Command is a program to run.
type Command struct {
	Program string
	Args    []string
	Environ []string          // environment (default: that of this process)
	Env     map[string]string // added to the environment
	Dir     string            // working directory (default: that of this process)

	// Stderr receives the standard error of the program. Optional.
	Stderr io.Writer

	// Grace is how long to wait after closing standard input before sending SIGTERM, and after
	// SIGTERM before sending SIGKILL (default 2 seconds).
	Grace time.Duration

	// Interrupted shortens Grace to 400 milliseconds if it is closed, so that a program that the
	// user interrupts ends within a second. Optional.
	Interrupted <-chan struct{}
}

// A Process is a running program. It keeps the end of its standard error for error messages.
type Process struct {
	In  io.WriteCloser // standard input
	Out io.ReadCloser  // standard output

	cmd    *exec.Cmd
	grace  time.Duration   // for each step of Close
	hurry  <-chan struct{} // see [Command.Interrupted]
	stderr *Tail
	exited chan struct{}
}

// Start starts a program, which is looked up in PATH. When it exits, its children are killed.
func Start(c Command) (*Process, error) {
	p := &Process{grace: cmp.Or(max(c.Grace, 0), 2*time.Second), hurry: c.Interrupted, stderr: &Tail{to: c.Stderr}, exited: make(chan struct{})}
	p.cmd = exec.Command(c.Program, c.Args...)
	p.cmd.Dir, p.cmd.Stderr, p.cmd.Env = c.Dir, p.stderr, c.Environ
	if len(c.Env) > 0 {
		p.cmd.Env = p.cmd.Environ()
		for name, value := range c.Env {
			p.cmd.Env = append(p.cmd.Env, name+"="+value)
		}
	}
	p.cmd.WaitDelay = orphanDelay
	SetGroup(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	p.cmd.Stdout = childOut
	p.In, p.Out = in, out
	err = p.cmd.Start()
	childOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, startError(c.Program, c.Dir, err)
	}
	go func() {
		_ = p.cmd.Wait() // see ExitState
		Kill(p.cmd)      // its children, if it left any
		close(p.exited)
		time.AfterFunc(orphanDelay, func() { out.Close() })
	}()
	return p, nil
}

// startError adds the cause and the remedy to an error of [exec.Cmd.Start].
func startError(program, dir string, err error) error {
	if dir != "" {
		if info, statErr := os.Stat(dir); statErr != nil || !info.IsDir() {
			return fmt.Errorf("start %s: no such directory: %s", program, dir)
		}
	}
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("start %s: not found in PATH; install it, or use its full path", program)
	}
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err // without the path, which is the program
	}
	return fmt.Errorf("start %s: %w", program, err)
}

// orphanDelay is how long output is read after the process has exited, because its children may
// keep standard output and standard error open.
const orphanDelay = 500 * time.Millisecond

// Close closes the standard input of the process and waits until it exits. If it does not exit
// within the grace period, Close sends SIGTERM and then SIGKILL to it and its children.
func (p *Process) Close() {
	p.In.Close()
	for _, signal := range []func(*exec.Cmd){terminate, Kill} {
		select {
		case <-p.exited:
		case <-time.After(p.grace):
		case <-p.hurry:
			p.ExitsWithin(min(p.grace, 400*time.Millisecond))
		}
		if p.ExitState() != "" {
			break
		}
		signal(p.cmd)
	}
	<-p.exited
	p.Out.Close()
}

// ExitsWithin waits until the process has exited, for d at most, and reports whether it has.
func (p *Process) ExitsWithin(d time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// ExitState returns how the process exited, such as "exit status 1", or "" while it runs.
func (p *Process) ExitState() string {
	select {
	case <-p.exited:
		return p.cmd.ProcessState.String()
	default:
		return ""
	}
}

// PID returns the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stderr returns the last 8 KiB of the standard error.
func (p *Process) Stderr() string { return p.stderr.String() }

// A Tail is a writer that keeps the last 8 KiB, and passes everything on.
type Tail struct {
	to io.Writer // optional

	mu        sync.Mutex
	text      []byte
	truncated bool
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	const limit = 8 << 10
	t.mu.Lock()
	t.text = append(t.text, p...)
	if over := len(t.text) - limit; over > 0 {
		t.text, t.truncated = append(t.text[:0], t.text[over:]...), true
	}
	t.mu.Unlock()
	if t.to != nil {
		_, _ = t.to.Write(p)
	}
	return len(p), nil
}

// String returns the text that was kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), "\ufffd"))
	if text != "" && t.truncated {
		text = "… " + text
	}
	return text
}

// RunOptions configure [Run].
type RunOptions struct {
	Dir   string    // the working directory
	Env   []string  // the environment; default that of this process
	Stdin io.Reader // default empty
	Group bool      // run in a new process group, which is killed unless the program succeeds
}

// Run runs a program and returns its output. When the context ends, the program is interrupted, and
// killed if it does not exit; the error is then the context's.
func Run(ctx context.Context, o RunOptions, program string, args ...string) (stdout, stderr []byte, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = o.Dir, o.Env, o.Stdin
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	if o.Group {
		SetGroup(cmd)
		cmd.Cancel = func() error { terminate(cmd); return nil }
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	if o.Group && err != nil && cmd.Process != nil {
		Kill(cmd)
	}
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, exec.ErrNotFound) && program == "go":
		err = errors.New("go command not found in PATH; install Go from https://go.dev/dl")
	case err != nil && len(args) > 0:
		err = fmt.Errorf("%s %s: %w", program, args[0], err)
	}
	return out.Bytes(), errOut.Bytes(), err
}

// PanicPosition returns the file and line of the innermost call that is in the project in root,
// from the output of a Go program that panicked. Petrock's own folders come last. The file is empty
// if no call is in the project.
func PanicPosition(root, output string) (file string, line int) {
	for text := range strings.Lines(output) {
		position, isInside := strings.CutPrefix(text, "\t"+filepath.ToSlash(root)+"/")
		name, rest, isCall := strings.Cut(position, ".go:")
		if !isInside || !isCall {
			continue
		}
		isPetrock := strings.HasPrefix(name, "core/") || strings.HasPrefix(name, "generators/")
		if file == "" || !isPetrock {
			number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			line, _ = strconv.Atoi(number)
			file = name + ".go"
		}
		if !isPetrock {
			break
		}
	}
	return file, line
}
