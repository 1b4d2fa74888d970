package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

// patience is how long a server may take for anything, beyond the time that a
// measurement is meant to take.
const patience = 10 * time.Second

// A process is a running server. The pipes to it are in blocking mode: a read or a
// write is one system call, without a detour through Go's poller, which would cost
// more than the fastest servers do. So there are no deadlines either; instead, a
// watchdog kills a server that takes too long, which ends the read.
type process struct {
	server server
	cmd    *exec.Cmd
	in     *os.File
	out    *os.File
	lines  *bufio.Reader // of out
	stderr *stderr
	begun  time.Time // just before the process was started

	ctx      context.Context
	doing    string // for messages of errors
	limit    time.Duration
	watchdog *time.Timer
	expired  atomic.Bool
}

// startProcess starts a server. The caller must call stop or kill.
func startProcess(ctx context.Context, s server, doing string, limit time.Duration, args ...string) (*process, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, childIn.Close(), in.Close())
	}
	in.Fd() // makes it blocking
	out.Fd()
	p := &process{server: s, in: in, out: out, stderr: newStderr(), ctx: ctx, doing: doing, limit: limit}
	p.lines = bufio.NewReaderSize(out, 64<<10)
	p.cmd = exec.CommandContext(ctx, s.path, append([]string{"mcp"}, args...)...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, p.stderr
	p.cmd.WaitDelay = time.Second
	p.begun = time.Now()
	err = p.cmd.Start()
	childIn.Close()
	childOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("starting %s: %w", s.name, err)
	}
	p.watchdog = time.AfterFunc(limit, func() {
		p.expired.Store(true)
		p.cmd.Process.Kill()
	})
	return p, nil
}

// send writes messages to the server.
func (p *process) send(messages []byte) error {
	if _, err := p.in.Write(messages); err != nil {
		return p.failed(err)
	}
	return nil
}

// line returns the next line from the server, which is valid until the next call.
func (p *process) line() ([]byte, error) {
	line, err := p.lines.ReadSlice('\n')
	if err != nil {
		return nil, p.failed(err)
	}
	return line, nil
}

// failed makes an error of one that reading or writing gave, with the reason for it.
func (p *process) failed(err error) error {
	state, waitErr := p.kill()
	switch {
	case p.ctx.Err() != nil:
		return p.ctx.Err()
	case p.expired.Load():
		return fmt.Errorf("%s: it hung while %s, and was killed after %v; %s", p.server.name, p.doing, p.limit, p.stderr)
	case errors.Is(err, bufio.ErrBufferFull):
		return fmt.Errorf("%s: a line of more than %d bytes while %s", p.server.name, p.lines.Size(), p.doing)
	case state == nil:
		return fmt.Errorf("%s: %w while %s; %w", p.server.name, err, p.doing, waitErr)
	}
	return fmt.Errorf("%s: it ended while %s (%v); %s", p.server.name, p.doing, state, p.stderr)
}

// stop ends the server as a client does, by closing its input, and returns what became
// of it.
func (p *process) stop() (*os.ProcessState, error) {
	p.in.Close()
	// Whatever it still has to say is read, so that it cannot block on a full pipe.
	_, copyErr := io.Copy(io.Discard, p.lines)
	waitErr := p.cmd.Wait()
	p.watchdog.Stop()
	p.out.Close()
	switch {
	case p.ctx.Err() != nil:
		return nil, p.ctx.Err()
	case p.expired.Load():
		return nil, fmt.Errorf("%s: it did not end when its input did, after %s; killed after %v; %s", p.server.name, p.doing, p.limit, p.stderr)
	case waitErr != nil:
		return nil, fmt.Errorf("%s: after %s: %w; %s", p.server.name, p.doing, waitErr, p.stderr)
	case copyErr != nil:
		return nil, fmt.Errorf("%s: reading what is left after %s: %w", p.server.name, p.doing, copyErr)
	}
	return p.cmd.ProcessState, nil
}

// kill ends the server at once, if it has not ended yet. It may be called again.
func (p *process) kill() (*os.ProcessState, error) {
	if p.cmd.ProcessState != nil {
		return p.cmd.ProcessState, nil
	}
	// A server that has just closed its output gets a moment to tell how it ended.
	grace := time.AfterFunc(100*time.Millisecond, func() { p.cmd.Process.Kill() })
	p.in.Close()
	err := p.cmd.Wait()
	grace.Stop()
	p.watchdog.Stop()
	p.out.Close()
	return p.cmd.ProcessState, err
}
