package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/petrock/petrock/bench/internal/eras"
	"github.com/petrock/petrock/bench/internal/front"
	"github.com/petrock/petrock/bench/internal/raw"
)

// A served is a running server that speaks HTTP. A watchdog kills one that takes too long, which
// ends all that waits for it: there are no deadlines on its connections.
type served struct {
	server server
	addr   string
	cmd    *exec.Cmd
	lines  *bufio.Reader // of its standard output
	stderr *stderr

	ctx      context.Context
	doing    string // for messages of errors
	limit    time.Duration
	watchdog *time.Timer
	expired  atomic.Bool
}

// serve starts a server over HTTP, for clients of an era. The caller must call stop or kill.
func serve(ctx context.Context, s server, era eras.Era, doing string, limit time.Duration) (*served, error) {
	args := []string{front.ServeArgument}
	if !era.Sessions() && s.mustChoose() {
		args = append(args, front.StatelessFlag)
	}
	p := &served{server: s, stderr: newStderr(), ctx: ctx, doing: doing, limit: limit}
	p.cmd = exec.CommandContext(ctx, s.path, args...)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines, p.cmd.Stderr, p.cmd.WaitDelay = bufio.NewReader(out), p.stderr, time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.name, err)
	}
	p.watchdog = time.AfterFunc(limit, func() {
		p.expired.Store(true)
		p.cmd.Process.Kill()
	})
	if p.addr, err = p.after(front.Listening); err != nil {
		return nil, p.failed(err)
	}
	return p, nil
}

// after reads lines until one begins with a word, and returns what comes after it.
func (p *served) after(word string) (string, error) {
	for {
		line, err := p.lines.ReadString('\n')
		if err != nil {
			return "", err
		}
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), word); ok {
			return rest, nil
		}
	}
}

// holding asks the server what it has in its hands, once its garbage is collected.
func (p *served) holding() (front.Holding, error) {
	var h front.Holding
	if err := p.cmd.Process.Signal(front.Ask); err != nil {
		return h, p.failed(err)
	}
	text, err := p.after(front.Holds)
	if err == nil {
		err = json.Unmarshal([]byte(text), &h)
	}
	if err != nil {
		return h, p.failed(err)
	}
	return h, nil
}

// dial makes a connection to the server.
func (p *served) dial() (*raw.Conn, error) {
	c, err := raw.Dial(p.addr)
	if err != nil {
		return nil, p.failed(err)
	}
	return c, nil
}

// failed kills the server and makes an error of one that came up, with the reason for it.
func (p *served) failed(err error) error {
	p.kill()
	switch {
	case err == nil:
		return nil
	case p.ctx.Err() != nil:
		return p.ctx.Err()
	case p.expired.Load():
		return fmt.Errorf("%s: it hung while %s, and was killed after %v; %s", p.server.name, p.doing, p.limit, p.stderr)
	}
	return fmt.Errorf("%s: %w (while %s); %s", p.server.name, err, p.doing, p.stderr)
}

// stop ends the server as whoever runs it does, and returns what became of it.
func (p *served) stop() (*os.ProcessState, error) {
	signalErr := p.cmd.Process.Signal(syscall.SIGTERM)
	io.Copy(io.Discard, p.lines)
	waitErr := p.cmd.Wait()
	p.watchdog.Stop()
	switch {
	case p.ctx.Err() != nil:
		return nil, p.ctx.Err()
	case p.expired.Load():
		return nil, fmt.Errorf("%s: it did not end when it was told to, after %s; killed after %v; %s", p.server.name, p.doing, p.limit, p.stderr)
	case signalErr != nil || waitErr != nil:
		return nil, fmt.Errorf("%s: after %s: %w; %s", p.server.name, p.doing, errors.Join(signalErr, waitErr), p.stderr)
	}
	return p.cmd.ProcessState, nil
}

// kill ends the server at once, if it has not ended yet. It may be called again.
func (p *served) kill() {
	if p.cmd.ProcessState != nil {
		return
	}
	p.cmd.Process.Kill()
	p.cmd.Wait()
	p.watchdog.Stop()
}
