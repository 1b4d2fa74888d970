package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

// A Command is a program that serves MCP over stdio.
type Command struct {
	Program string
	Args    []string
	Env     map[string]string // added to the environment of this process
	Dir     string            // working directory (default: that of this process)

	// Stderr receives the standard error of the server. Optional. Errors quote the end of it in any
	// case.
	Stderr io.Writer

	// Grace is how long to wait after closing standard input before sending SIGTERM, and after SIGTERM
	// before sending SIGKILL (default 2 seconds).
	Grace time.Duration
}

// Start starts a server as a child process and connects to it. The process runs until [Client.Close].
// ctx applies to connecting only. Some older servers exit when they receive server/discover. Start
// restarts such a server and sends initialize first.
func Start(ctx context.Context, cmd Command, o Options) (*Client, error) {
	c, err := start(ctx, cmd, o)
	if err == nil || o.Revision != "" || o.Handshake || ctx.Err() != nil {
		return c, err
	}
	if _, ok := errors.AsType[*earlyExitError](err); !ok {
		return nil, err
	}
	o.Handshake = true
	if again, againErr := start(ctx, cmd, o); againErr == nil {
		return again, nil
	}
	return nil, err
}

func start(ctx context.Context, cmd Command, o Options) (*Client, error) {
	p, err := startProcess(cmd)
	if err != nil {
		return nil, &ConnectionError{err}
	}
	c := newClient(o)
	lines := jsonrpc.NewLines(p.out, p.in, jsonrpc.LinesOptions{MaxMessage: c.o.MaxMessage})
	t := &processTransport{streamTransport: streamTransport{stream: lines}, process: p}
	return c.connect(ctx, t, lines, t.onInvalid)
}

type processTransport struct {
	streamTransport
	process *process
	stray   atomic.Pointer[string] // first line of standard output that was not a message
}

// An earlyExitError means that the server exited before the session started.
type earlyExitError struct{ error }

func (e *earlyExitError) Unwrap() error { return e.error }

// onInvalid logs a line of standard output that is not a message, and keeps the first one.
func (t *processTransport) onInvalid(raw []byte, err *jsonrpc.Error) {
	text := short(string(raw))
	t.c.o.Logger.Warn("the server wrote a line to standard output that is not a message", "error", err, "text", text)
	t.stray.CompareAndSwap(nil, &text)
}

// Explain adds the exit state of the process, and the end of its standard error.
func (t *processTransport) Explain(err error) error {
	if errors.Is(err, jsonrpc.ErrClosed) || errors.Is(err, syscall.EPIPE) {
		t.process.exitsWithin(time.Second) // it may close its pipes before it exits
	}
	early := false
	if state := t.process.exitState(); state != "" && t.c.life.Err() == nil {
		early = t.c.session.Load() == nil
		if text, ok := strings.CutSuffix(err.Error(), ": "+jsonrpc.ErrClosed.Error()); ok {
			err = errors.New(text)
		}
		err = fmt.Errorf("%w: the server exited (%s)", err, state)
	}
	if stray := t.stray.Load(); stray != nil {
		err = fmt.Errorf("%w\nThe server wrote to standard output: %q; only MCP messages belong there, write logs to standard error", err, *stray)
	}
	if text := t.process.stderr.String(); text != "" {
		err = fmt.Errorf("%w\nIts standard error:\n%s", err, text)
	}
	if early {
		return &earlyExitError{err}
	}
	return err
}

func (t *processTransport) Close() error {
	t.process.close()
	<-t.c.conn.Done()
	return nil
}

// A process is a running program. It keeps the end of its standard error for error messages.
type process struct {
	in  io.WriteCloser // standard input
	out io.ReadCloser  // standard output

	cmd    *exec.Cmd
	grace  time.Duration // for each step of close
	stderr *tail
	exited chan struct{}
}

// startProcess starts a program, which is looked up in PATH.
func startProcess(c Command) (*process, error) {
	p := &process{grace: c.Grace, stderr: &tail{to: c.Stderr}, exited: make(chan struct{})}
	if p.grace <= 0 {
		p.grace = 2 * time.Second
	}
	p.cmd = exec.Command(c.Program, c.Args...)
	p.cmd.Dir, p.cmd.Stderr = c.Dir, p.stderr
	if len(c.Env) > 0 {
		p.cmd.Env = os.Environ()
		for _, name := range slices.Sorted(maps.Keys(c.Env)) {
			p.cmd.Env = append(p.cmd.Env, name+"="+c.Env[name])
		}
	}
	p.cmd.WaitDelay = orphanDelay
	setProcessGroup(p.cmd)
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
	p.in, p.out = in, out
	err = p.cmd.Start()
	childOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, startError(c.Program, c.Dir, err)
	}
	go func() {
		_ = p.cmd.Wait() // see exitState
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

// orphanDelay is how long output is read after the process has exited, because its children may keep
// standard output and standard error open.
const orphanDelay = 500 * time.Millisecond

// close closes the standard input of the process and waits until it exits. If it does not exit within
// the grace period, close sends SIGTERM and then SIGKILL to it and its children.
func (p *process) close() {
	p.in.Close()
	for _, signal := range []func(*exec.Cmd){terminate, kill} {
		if p.exitsWithin(p.grace) {
			break
		}
		signal(p.cmd)
	}
	<-p.exited
	p.out.Close()
}

func (p *process) exitsWithin(d time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// exitState returns how the process exited, such as "exit status 1", or "" while it runs.
func (p *process) exitState() string {
	select {
	case <-p.exited:
		return p.cmd.ProcessState.String()
	default:
		return ""
	}
}

// A tail is a writer that keeps the last 8 KiB, and passes everything on.
type tail struct {
	to io.Writer // optional

	mu        sync.Mutex
	text      []byte
	truncated bool
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
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
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), "\ufffd"))
	if text != "" && t.truncated {
		text = "… " + text
	}
	return text
}
