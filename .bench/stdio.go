package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/bench/internal/wire"
)

// measureLoad calls add on a new server for about d, after a warm-up of d/4, with a number of calls
// in flight. For each read it sends as many calls as responses have arrived, in one write. With one
// call in flight it decodes the response before the next call, as a real client does. With several
// it only compares responses, so that the server and not the client is the bottleneck.
func measureLoad(ctx context.Context, s server, d time.Duration, inFlight int) (load, error) {
	doing := fmt.Sprintf("calling add with %d in flight", inFlight)
	c, err := connect(ctx, s, doing, d+d/4+patience)
	if err != nil {
		return load{}, err
	}
	g := &generator{conversation: c, calls: newCalls(inFlight), inFlight: inFlight}
	l, err := g.run(d)
	if err != nil {
		c.kill()
		return load{}, err
	}
	_, err = c.stop()
	return l, err
}

// A generator makes the calls of a load.
type generator struct {
	*conversation
	calls    *calls
	inFlight int
	pattern  pattern
	answered []bool // by id, from firstID on
	count    int    // of responses
}

func (g *generator) run(d time.Duration) (load, error) {
	if err := g.first(); err != nil {
		return load{}, err
	}
	if err := g.send(g.calls.take(g.inFlight)); err != nil {
		return load{}, err
	}
	if err := g.keepUp(d / 4); err != nil {
		return load{}, err
	}
	before, begun := g.count, time.Now()
	if err := g.keepUp(d); err != nil {
		return load{}, err
	}
	l := load{calls: g.count - before, elapsed: time.Since(begun)}
	for g.count < g.calls.taken() {
		if _, err := g.receive(); err != nil {
			return load{}, err
		}
	}
	return l, nil
}

// first makes one call, and makes a pattern of its response.
func (g *generator) first() error {
	if err := g.send(g.calls.take(1)); err != nil {
		return err
	}
	line, err := g.answer(firstID)
	if err != nil {
		return err
	}
	if g.pattern, err = learn(line, firstID); err != nil {
		return g.wrong(err)
	}
	g.answered = append(g.answered, true)
	g.count++
	return nil
}

// keepUp receives responses for d, and sends a call for each.
func (g *generator) keepUp(d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end); {
		n, err := g.receive()
		if err != nil {
			return err
		}
		if err := g.send(g.calls.take(n)); err != nil {
			return err
		}
	}
	return nil
}

// receive waits for responses, reads all that have arrived, and returns their number.
func (g *generator) receive() (int, error) {
	for n := 0; ; {
		line, err := g.line()
		if err != nil {
			return n, err
		}
		id, ok := g.pattern.id(line)
		if ok && g.inFlight == 1 {
			ok = checkAnswer(line, id) == nil
		}
		if !ok {
			if !bytes.Contains(line, []byte(`"method":`)) { // not a notification
				return n, g.wrong(fmt.Errorf("a response that differs from the first one: %s", line))
			}
		} else if err := g.note(id); err != nil {
			return n, g.wrong(err)
		} else {
			n++
		}
		waiting, _ := g.lines.Peek(g.lines.Buffered())
		if n > 0 && bytes.IndexByte(waiting, '\n') < 0 {
			return n, nil
		}
	}
}

// note records that a call has been answered.
func (g *generator) note(id int) error {
	for len(g.answered) < g.calls.taken() {
		g.answered = append(g.answered, false)
	}
	i := id - firstID
	if i < 0 || i >= len(g.answered) {
		return fmt.Errorf("a response to %d, which was not sent", id)
	}
	if g.answered[i] {
		return fmt.Errorf("a second response to %d", id)
	}
	g.answered[i] = true
	g.count++
	return nil
}

// A conversation is a server over stdio that has listed its tools.
type conversation struct {
	*process
}

// connect starts a server, initializes it and lists its tools. The caller must call stop or kill.
func connect(ctx context.Context, s server, doing string, limit time.Duration) (*conversation, error) {
	p, err := startProcess(ctx, s, doing, limit)
	if err != nil {
		return nil, err
	}
	c := &conversation{process: p}
	if err := c.initialize(); err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

func (c *conversation) initialize() error {
	if err := c.send([]byte(initialize)); err != nil {
		return err
	}
	if _, err := c.answer(initializeID); err != nil {
		return err
	}
	if err := c.send([]byte(list)); err != nil {
		return err
	}
	line, err := c.answer(listID)
	if err != nil {
		return err
	}
	switch {
	case c.server.builds:
		return c.settle()
	case c.server.dir != "": // a project, which has more tools
		return nil
	}
	return c.wrong(checkList(line, 1))
}

// settle waits until petrock dev has started both of its servers and derived, because that would slow
// the calls.
func (c *conversation) settle() error {
	if err := c.send([]byte(callMessage(settleID, "petrock_project_status", "{}"))); err != nil {
		return err
	}
	if _, err := c.answer(settleID); err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	return nil
}

// answer reads until the response with the given id, and skips all other messages.
func (c *conversation) answer(id int) ([]byte, error) {
	for {
		got, line, err := c.anyAnswer()
		if err != nil || got == id {
			return line, err
		}
	}
}

// anyAnswer reads the next response, and skips notifications.
func (c *conversation) anyAnswer() (id int, line []byte, err error) {
	for {
		line, err := c.line()
		if err != nil {
			return 0, nil, err
		}
		begin, end, ok := wire.ID(line)
		if !ok {
			continue
		}
		if id, ok := wire.Number(line[begin:end]); ok {
			return id, line, nil
		}
		return 0, nil, c.wrong(fmt.Errorf("an id that was never sent: %s", line))
	}
}

// wrong adds the server and its task to an error. It returns nil for nil.
func (c *conversation) wrong(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w (while %s)", c.server.name, err, c.doing)
}

// patience is the timeout of a server, in addition to the duration of the measurement.
const patience = 10 * time.Second

// A process is a running server over stdio. Its pipes are in blocking mode: a read or a write is
// one system call, without Go's poller, which would cost more than the fastest servers do. Such
// pipes have no deadlines. Instead, a watchdog kills a server that takes too long, which ends the
// read.
type process struct {
	server server
	cmd    *exec.Cmd
	in     *os.File
	out    *os.File
	lines  *bufio.Reader // of out
	stderr *stderr

	ctx      context.Context
	doing    string // for error messages
	limit    time.Duration
	watchdog *time.Timer
	expired  atomic.Bool
}

// startProcess starts a server. The caller must call stop or kill.
func startProcess(ctx context.Context, s server, doing string, limit time.Duration) (*process, error) {
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
	p := &process{server: s, in: in, out: out, stderr: &stderr{}, ctx: ctx, doing: doing, limit: limit}
	p.lines = bufio.NewReaderSize(out, 64<<10)
	args := s.args
	if args == nil {
		args = []string{"mcp"}
	}
	p.cmd = exec.CommandContext(ctx, s.path, args...)
	p.cmd.Dir = s.dir
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, p.stderr
	p.cmd.WaitDelay = time.Second
	err = p.cmd.Start()
	childIn.Close()
	childOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("start %s: %w", s.name, err)
	}
	p.watchdog = time.AfterFunc(limit, func() {
		p.expired.Store(true)
		p.cmd.Process.Kill()
	})
	return p, nil
}

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

// failed kills the server and adds the cause to an error of reading or writing.
func (p *process) failed(err error) error {
	state, waitErr := p.kill()
	switch {
	case p.ctx.Err() != nil:
		return p.ctx.Err()
	case p.expired.Load():
		return fmt.Errorf("%s: killed after %v without an answer (while %s); %s", p.server.name, p.limit, p.doing, p.stderr)
	case errors.Is(err, bufio.ErrBufferFull):
		return fmt.Errorf("%s: a line of more than %d bytes while %s", p.server.name, p.lines.Size(), p.doing)
	case state == nil:
		return fmt.Errorf("%s: %w while %s; %w", p.server.name, err, p.doing, waitErr)
	}
	return fmt.Errorf("%s: exited while %s (%v); %s", p.server.name, p.doing, state, p.stderr)
}

// stop stops the server as a client does, by closing its input, and returns the state of its
// process.
func (p *process) stop() (*os.ProcessState, error) {
	p.in.Close()
	// Read the remaining output, so that the server does not block on a full pipe.
	_, copyErr := io.Copy(io.Discard, p.lines)
	waitErr := p.cmd.Wait()
	p.watchdog.Stop()
	p.out.Close()
	switch {
	case p.ctx.Err() != nil:
		return nil, p.ctx.Err()
	case p.expired.Load():
		return nil, fmt.Errorf("%s: did not exit at the end of its input (after %s); killed after %v; %s", p.server.name, p.doing, p.limit, p.stderr)
	case waitErr != nil:
		return nil, fmt.Errorf("%s: after %s: %w; %s", p.server.name, p.doing, waitErr, p.stderr)
	case copyErr != nil:
		return nil, fmt.Errorf("%s: read remaining output (after %s): %w", p.server.name, p.doing, copyErr)
	}
	return p.cmd.ProcessState, nil
}

// kill kills the server unless it has exited. It may be called again.
func (p *process) kill() (*os.ProcessState, error) {
	if p.cmd.ProcessState != nil {
		return p.cmd.ProcessState, nil
	}
	// A server that has just closed its output gets time to exit, so that its state is known.
	grace := time.AfterFunc(100*time.Millisecond, func() { p.cmd.Process.Kill() })
	p.in.Close()
	err := p.cmd.Wait()
	grace.Stop()
	p.watchdog.Stop()
	p.out.Close()
	return p.cmd.ProcessState, err
}

const stderrKept = 8 << 10 // bytes

// A stderr keeps the beginning of a server's standard error, for error messages.
type stderr struct {
	mu   sync.Mutex
	kept []byte
	more bool
}

// Write implements io.Writer. It never fails.
func (s *stderr) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(p), stderrKept-len(s.kept))
	s.kept = append(s.kept, p[:n]...)
	s.more = s.more || n < len(p)
	return len(p), nil
}

// String returns the output for the end of an error message.
func (s *stderr) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.TrimSpace(string(s.kept))
	switch {
	case text == "":
		return "nothing on standard error"
	case s.more:
		text += "\n…"
	}
	return "standard error:\n" + text
}
