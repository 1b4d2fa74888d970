package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/petrock/petrock/bench/internal/eras"
	"github.com/petrock/petrock/bench/internal/front"
	"github.com/petrock/petrock/bench/internal/raw"
)

// inFlight is the number of pipelined calls over stdio, and of clients over HTTP.
const inFlight = 64

// measureHTTP calls every server with 64 clients, in ten interleaved slices, and returns calls per
// second by server. The server processes run through all slices. Before these, each server is
// called for as long as it is measured: until its heap has its size, the system spends time on new
// memory.
func measureHTTP(ctx context.Context, servers []server, era eras.Era, d time.Duration) (map[string]float64, error) {
	const slices = 10
	running, clients := map[string]*served{}, map[string][]*caller{}
	defer func() {
		for _, p := range running {
			p.kill()
		}
	}()
	for _, s := range servers {
		doing := fmt.Sprintf("%d clients call add (%s)", inFlight, era.Name)
		p, callers, err := connectCallers(ctx, s, era, doing, time.Duration(len(servers))*(4*d+patience), inFlight)
		if err != nil {
			return nil, err
		}
		running[s.name], clients[s.name] = p, callers
	}
	for _, s := range servers {
		if _, err := callFor(d, clients[s.name]); err != nil {
			return nil, running[s.name].failed(err)
		}
	}
	total := map[string]load{}
	for i := range slices {
		for _, s := range rotated(servers, i) {
			l, err := callFor(d/slices, clients[s.name])
			if err != nil {
				return nil, running[s.name].failed(err)
			}
			before := total[s.name]
			total[s.name] = load{calls: before.calls + l.calls, elapsed: before.elapsed + l.elapsed}
		}
	}
	rates := map[string]float64{}
	for _, s := range servers {
		for _, c := range clients[s.name] {
			c.conn.Close()
		}
		if _, err := running[s.name].stop(); err != nil {
			return nil, err
		}
		rates[s.name] = total[s.name].perSecond()
	}
	return rates, nil
}

// The phases of a load.
const (
	warmUp = iota
	counted
	over
)

// connectCallers starts a server and connects clients to it.
func connectCallers(ctx context.Context, s server, era eras.Era, doing string, limit time.Duration, clients int) (*served, []*caller, error) {
	p, err := serve(ctx, s, era, doing, limit)
	if err != nil {
		return nil, nil, err
	}
	callers := make([]*caller, clients)
	for i := range callers {
		if callers[i], err = newCaller(p, era, i); err != nil {
			return nil, nil, err // newCaller has killed the server
		}
	}
	return p, callers, nil
}

// callFor runs all callers in parallel, and counts their calls during d, after a warm-up of d/4.
func callFor(d time.Duration, callers []*caller) (load, error) {
	var phase atomic.Int32
	var all sync.WaitGroup
	counts, errs := make([]int, len(callers)), make(chan error, len(callers))
	for i, c := range callers {
		all.Go(func() {
			for now := phase.Load(); now != over; now = phase.Load() {
				err := c.call()
				if err == nil {
					err = c.check()
				}
				if err != nil {
					errs <- err
					return
				}
				if now == counted {
					counts[i]++
				}
			}
		})
	}
	time.Sleep(d / 4)
	begun := time.Now()
	phase.Store(counted)
	time.Sleep(d)
	l := load{elapsed: time.Since(begun)}
	phase.Store(over)
	all.Wait()
	for _, n := range counts {
		l.calls += n
	}
	close(errs)
	return l, <-errs
}

// A served is a running server over HTTP. Its connections have no deadlines. Instead, a watchdog
// kills a server that takes too long, which ends all reads.
type served struct {
	server server
	addr   string
	cmd    *exec.Cmd
	lines  *bufio.Reader // of its standard output
	stderr *stderr

	ctx      context.Context
	doing    string // for error messages
	limit    time.Duration
	watchdog *time.Timer
	expired  atomic.Bool
}

// serve starts a server over HTTP for clients of an era. The caller must call stop or kill.
func serve(ctx context.Context, s server, era eras.Era, doing string, limit time.Duration) (*served, error) {
	args := []string{front.ServeArgument}
	if !era.Sessions() && s.needsEraFlag() {
		args = append(args, front.StatelessFlag)
	}
	p := &served{server: s, stderr: &stderr{}, ctx: ctx, doing: doing, limit: limit}
	p.cmd = exec.CommandContext(ctx, s.path, args...)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines, p.cmd.Stderr, p.cmd.WaitDelay = bufio.NewReader(out), p.stderr, time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.name, err)
	}
	p.watchdog = time.AfterFunc(limit, func() {
		p.expired.Store(true)
		p.cmd.Process.Kill()
	})
	if p.addr, err = p.readAfter(front.ListeningPrefix); err != nil {
		return nil, p.failed(err)
	}
	return p, nil
}

// readAfter reads lines until one begins with prefix, and returns the rest of it.
func (p *served) readAfter(prefix string) (string, error) {
	for {
		line, err := p.lines.ReadString('\n')
		if err != nil {
			return "", err
		}
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			return rest, nil
		}
	}
}

func (p *served) dial() (*raw.Conn, error) {
	c, err := raw.Dial(p.addr)
	if err != nil {
		return nil, p.failed(err)
	}
	return c, nil
}

// failed kills the server and adds the cause to an error.
func (p *served) failed(err error) error {
	p.kill()
	switch {
	case err == nil:
		return nil
	case p.ctx.Err() != nil:
		return p.ctx.Err()
	case p.expired.Load():
		return fmt.Errorf("%s: killed after %v without an answer (while %s); %s", p.server.name, p.limit, p.doing, p.stderr)
	}
	return fmt.Errorf("%s: %w (while %s); %s", p.server.name, err, p.doing, p.stderr)
}

// stop stops the server with SIGTERM, and returns the state of its process.
func (p *served) stop() (*os.ProcessState, error) {
	signalErr := p.cmd.Process.Signal(syscall.SIGTERM)
	io.Copy(io.Discard, p.lines)
	waitErr := p.cmd.Wait()
	p.watchdog.Stop()
	switch {
	case p.ctx.Err() != nil:
		return nil, p.ctx.Err()
	case p.expired.Load():
		return nil, fmt.Errorf("%s: did not exit on SIGTERM (after %s); killed after %v; %s", p.server.name, p.doing, p.limit, p.stderr)
	case signalErr != nil || waitErr != nil:
		return nil, fmt.Errorf("%s: after %s: %w; %s", p.server.name, p.doing, errors.Join(signalErr, waitErr), p.stderr)
	}
	return p.cmd.ProcessState, nil
}

// kill kills the server unless it has exited. It may be called again.
func (p *served) kill() {
	if p.cmd.ProcessState != nil {
		return
	}
	p.cmd.Process.Kill()
	p.cmd.Wait()
	p.watchdog.Stop()
}

// idsEach is the number of ids of each caller.
const idsEach = 1_000_000

// A caller is a client over HTTP, with one connection and, if the era has sessions, one session.
type caller struct {
	conn    *raw.Conn
	era     eras.Era
	session string
	request []byte // a call of add, whose id is replaced
	idAt    int
	nextID  int
	pattern pattern
	calls   int // answered
}

// newCaller connects the n-th client to a server and checks one call.
func newCaller(p *served, era eras.Era, n int) (*caller, error) {
	conn, err := p.dial()
	if err != nil {
		return nil, err
	}
	c := &caller{conn: conn, era: era, nextID: firstID + n*idsEach}
	if era.Sessions() {
		if c.session, err = openSession(conn); err != nil {
			conn.Close()
			return nil, p.failed(err)
		}
	}
	c.request = era.Post(era.Call(c.session, firstID, "add", addArguments))
	c.idAt = bytes.LastIndex(c.request, fmt.Append(nil, firstID))
	if err := c.first(); err != nil {
		conn.Close()
		return nil, p.failed(err)
	}
	return c, nil
}

// openSession performs the handshake, and returns the session's id.
func openSession(conn *raw.Conn) (string, error) {
	head, body, err := conn.Do(eras.Handshake().Post(eras.Initialize(initializeID)))
	switch {
	case err != nil:
		return "", err
	case head.Status != http.StatusOK || head.Session == "":
		return "", fmt.Errorf("status %d and session %q for initialize: %s", head.Status, head.Session, body)
	}
	session := head.Session
	head, body, err = conn.Do(eras.Handshake().Post(eras.Initialized(session)))
	switch {
	case err != nil:
		return "", err
	case head.Status != http.StatusAccepted:
		return "", fmt.Errorf("status %d for notifications/initialized: %s", head.Status, body)
	}
	return session, nil
}

// roundTrip makes a call and returns its id and the response, which is valid until the next call.
func (c *caller) roundTrip() (int, []byte, error) {
	id := c.nextID
	c.nextID++
	putNumber(c.request[c.idAt:c.idAt+idDigits], id)
	head, body, err := c.conn.Do(c.request)
	if err != nil {
		return id, nil, err
	}
	if head.Status != http.StatusOK || head.Close {
		return id, nil, fmt.Errorf("call: status %d, connection closed: %v: %s", head.Status, head.Close, body)
	}
	return id, raw.Message(head, body), nil
}

// first makes one call, and makes a pattern of its response.
func (c *caller) first() error {
	id, message, err := c.roundTrip()
	if err != nil {
		return err
	}
	c.pattern, err = learn(message, id)
	return err
}

// call makes a call, compares its response with the pattern, and decodes it as a real client does.
func (c *caller) call() error {
	id, message, err := c.roundTrip()
	if err != nil {
		return err
	}
	if got, ok := c.pattern.id(message); !ok || got != id {
		return fmt.Errorf("the response to %d differs from the first one: %s", id, message)
	}
	c.calls++
	return checkAnswer(message, id)
}

// check returns an error if the caller has run out of ids.
func (c *caller) check() error {
	if c.calls >= idsEach-2 {
		return errors.New("more calls than ids; use a smaller -time")
	}
	return nil
}
