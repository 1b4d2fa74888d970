// Package live connects an MCP client to a project under development: to the project's server and
// to petrock's dev server, in one list. It watches the files, builds, and replaces the servers
// while the client keeps its connection.
//
// A [Supervisor] watches and builds. Each connection of a client is a session with two slots. A
// slot keeps one server running as a child process, and a peer is the connection to it. Messages
// are forwarded byte for byte where possible; results get the build of their server in _meta.
// Without petrock's tools, the answers of a running server pass unchanged.
//
// While the source on disk does not compile or its server does not start, the last good build runs
// with --read-only, so that it writes no events that a mended build cannot read. Results of
// petrock's tools that write, and of project_status, include the reason.
//
// The package imports little, so that the first start, with an empty build cache, is quick.
package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/core/plumbing/project"
)

// Prefix begins the names of petrock's tools and prompts.
const Prefix = "petrock_"

// petrockFolder holds the program with petrock's dev server.
const petrockFolder = "generators/petrock"

// Options configure a [Supervisor].
type Options struct {
	Root      string    // folder of the project
	Name      string    // of the project; its server is in cmd/Name
	Args      []string  // further arguments of the server
	NoPetrock bool      // leave petrock's tools out of the lists
	NoNet     bool      // examples must not use the network
	NoExec    bool      // the dev server runs no code of the project
	Guard     bool      // a guard ends the servers if this process is killed; main calls [Guard] first
	Log       io.Writer // lines for the person who started it, and the standard error of the servers

	environ []string // of the servers and the go command; New sets it
}

// A Supervisor watches a project and builds its servers. Its sessions run them.
type Supervisor struct {
	o      Options
	files  files
	cancel context.CancelFunc
	done   chan struct{}
	kick   chan struct{} // asks for a look at the files

	mu       sync.Mutex
	changed  chan struct{} // closed at the next change of the fields below, or of a slot
	builds   [2]buildResult
	handled  snapshot // the files of the last build
	outdated bool     // files have changed since, or may have
	sessions map[*session]struct{}
	begun    int // looks at the files so far
	held     int // calls for which the project's servers are stopped; see forwardAlone
	ended    int // the last look that has ended

	mustDerive bool // a dev server has started since the last look

	deriving chan error // the result of a call of the dev server from an earlier look, or nil; only run uses it
}

// files are what a [Supervisor] watches and builds.
type files struct {
	snapshot func() (snapshot, error)
	changes  <-chan struct{} // may receive a value after changes
	build    func(ctx context.Context, folder string) (program, error)
	features func(ctx context.Context) (string, error) // returns the fingerprints of the features
	release  func(program)                             // removes an executable
	close    func() error
	patience time.Duration // how long builds wait for a dev server that is busy

	firstAnswer time.Duration // how long the first answers wait for the project's server
	slowStart   time.Duration // how long calls wait for a server that has been started
}

// A buildResult is the last build of a server.
type buildResult struct {
	program program // the last one that was built; zero if none was
	good    program // the last one that started; zero if none did. Only of the project's server
	err     error   // of the last build
	count   int     // of the builds so far

	restarts int // of the project's server that were asked for
}

// A session is the connection of a client.
type session struct {
	sup    *Supervisor
	client jsonrpc.Transport
	slots  [2]*slot
	began  time.Time
	ctx    context.Context // ends with the connection

	interrupted <-chan struct{} // closed by a signal

	open  sync.WaitGroup // calls that the project's server does not have
	setup sync.Mutex     // held while a server gets the state of the session

	mu          sync.Mutex
	handshake   json.RawMessage // params of initialize; nil before it
	initialized bool
	level       json.RawMessage            // params of logging/setLevel, or nil
	subscribed  map[string]json.RawMessage // params of resources/subscribe, by URI
	calls       map[string]*pending        // by the key of the id
	listens     map[string]*listen         // by the key of the id
	questions   map[string]question        // requests of servers to the client, by the key of the id that the client sees
	lastID      int64
	lists       [2]lists // what the servers last listed, by kind
}

// A pending is a call: a request of the client without an answer, except a [listen].
type pending struct {
	*jsonrpc.Message
	at     *peer              // the server that has it; nil if none does
	cancel context.CancelFunc // of a call that waits for a server
}

// A question is a request of a server to the client.
type question struct {
	from  *peer
	id    jsonrpc.ID // of the server
	shown jsonrpc.ID // that the client sees
}

// A listen is a subscriptions/listen of the client. It outlives the servers: each new one gets it
// too.
type listen struct {
	*jsonrpc.Message
	isOpen atomic.Bool // the client has the acknowledgement
}

// lists holds what a server lists, by method.
type lists map[string]string

// A kind is one of the two servers that a session forwards to.
type kind int

const (
	serverKind  kind = iota // the project's server
	petrockKind             // petrock's dev server
)

// A slot keeps one server of a session running: it starts the newest build, replaces the server
// when there is a newer one, and restarts it when it crashes. If the newest build cannot run, the
// slot of the project's server runs the last good one read-only, and the slot of the dev server
// keeps the previous one.
type slot struct {
	s       *session
	kind    kind
	current atomic.Pointer[peer] // nil while no server runs

	// The mutex of the supervisor guards these. Its update changes them.
	starting bool    // replace runs
	down     error   // why no server runs; nil while the first one is being built
	failed   attempt // the last launch that failed
	late     attempt // the last launch that takes long
	old      []*peer // replaced servers with calls in flight

	// Only run uses these.
	tried launch           // the last launch; if it failed, it is repeated after retry or a change
	began time.Time        // when it was tried
	retry <-chan time.Time // nil if only a change can help
	delay time.Duration    // before the next restart
}

// A launch is a program and how it is started.
type launch struct {
	program  program
	readOnly string // why it is started with --read-only; empty if it is not
	restarts int    // of the build
}

// An attempt is a launch that did not lead to a server, or has not yet.
type attempt struct {
	launch launch
	err    error // why; nil if there was no such launch
}

func (a attempt) is(l launch) bool { return a.err != nil && a.launch == l }

// A peer is a running server that a session forwards to.
type peer struct {
	s         *session
	slot      *slot
	launch    launch
	transport jsonrpc.Transport
	process   *process.Process
	done      chan struct{} // closed when the connection has ended and its calls have been answered

	explaining sync.WaitGroup // answers that wait for the log of a panic

	// The mutex of the session guards these.
	lastID   int64                            // of requests of the session
	calls    int                              // requests of the client
	own      map[string]chan *jsonrpc.Message // requests of the session, by the key of the id
	listens  map[string]bool                  // subscriptions that it has got, by the key of the id
	retiring bool                             // close it when calls is 0
	ended    bool
}

// Close stops watching and building. Sessions must have ended.
func (s *Supervisor) Close() error {
	s.cancel()
	<-s.done
	return s.files.close()
}

// update changes fields of the supervisor or of slots, and wakes those who wait for a change.
func (s *Supervisor) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until a condition holds. It checks the condition after each change, with the mutex.
func (s *Supervisor) await(ctx context.Context, holds func() bool) error {
	for {
		s.mu.Lock()
		ok, changed := holds(), s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.done:
			return errors.New("the supervisor has ended")
		}
	}
}

// isCurrent reports whether a program is built from the files on disk, as far as the watcher has
// noticed.
func (s *Supervisor) isCurrent(k kind, p program) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.builds[k]
	return !s.outdated && b.err == nil && b.program == p
}

// started records that a program of the project's server has started.
func (s *Supervisor) started(p program) {
	var before program
	s.update(func() {
		if b := &s.builds[serverKind]; b.program == p {
			before, b.good = b.good, p
		}
	})
	if before.path != "" && before.path != p.path {
		s.files.release(before)
	}
}

// restart restarts the servers of all sessions, including those that did not start, and repeats a
// build that failed.
func (s *Supervisor) restart() {
	s.update(func() {
		b := &s.builds[serverKind]
		b.restarts++
		if b.err != nil {
			s.handled = snapshot{}
		}
		for session := range s.sessions {
			session.slots[serverKind].down = nil
		}
	})
}

// say logs a line, and sends it to all clients.
func (s *Supervisor) say(level, text string) {
	s.logf("%s", text)
	s.mu.Lock()
	sessions := slices.Collect(maps.Keys(s.sessions))
	s.mu.Unlock()
	for _, session := range sessions {
		session.notice(level, text)
	}
}

func (s *Supervisor) logf(format string, args ...any) {
	fmt.Fprintf(s.o.Log, "petrock: "+format+"\n", args...)
}

// A logQueue writes lines to a writer that may block, such as standard error that the client does
// not read. While the queue is full, it drops lines.
type logQueue struct {
	lines  chan []byte // nil is the last
	closed chan struct{}
}

func newLogQueue(to io.Writer) *logQueue {
	q := &logQueue{lines: make(chan []byte, 256), closed: make(chan struct{})}
	go func() {
		defer close(q.closed)
		for line := <-q.lines; line != nil; line = <-q.lines {
			_, _ = to.Write(line)
		}
	}()
	return q
}

// Write never blocks and never fails.
func (q *logQueue) Write(p []byte) (int, error) {
	select {
	case q.lines <- slices.Clone(p):
	default:
	}
	return len(p), nil
}

// close writes the remaining lines, for a second at most.
func (q *logQueue) close() {
	go func() { q.lines <- nil }()
	select {
	case <-q.closed:
	case <-time.After(time.Second):
	}
}

func isStateless(m *jsonrpc.Message) bool { return param(m, "_meta", metaVersion) != nil }

// failed returns the answer to a request that failed. For a tool call it is a result, which the
// model sees.
func failed(m *jsonrpc.Message, err error) []byte {
	if m.Method() == "ping" {
		return response(m.ID(), json.RawMessage("{}")) // the session is alive
	}
	if m.Method() != "tools/call" {
		return jsonrpc.AppendError(nil, m.ID(), err)
	}
	content := slices.Concat([]byte(`[{"type":"text","text":`), quote(err.Error()), []byte("}]"))
	result := object(nil).with("content", content).with("isError", []byte("true"))
	if isStateless(m) {
		result = result.with("resultType", quote("complete"))
	}
	return response(m.ID(), result.json())
}

// reply sends the answer to a call that the project's server does not have.
func (c *session) reply(id jsonrpc.ID, raw []byte) {
	c.drop(id)
	c.send(raw)
	c.open.Done()
}

// drop removes a call that no server has.
func (c *session) drop(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id.Key())
}

func (c *session) send(raw []byte) { _ = c.client.Send(raw) } // if it fails, read ends

var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// notice sends a log message to the client, if the client has a session and wants petrock.
func (c *session) notice(level, said string) {
	c.mu.Lock()
	ok, wanted := c.initialized && !c.sup.o.NoPetrock, text(member(c.level, "level"))
	c.mu.Unlock()
	if !ok || slices.Index(levels, level) < slices.Index(levels, wanted) {
		return
	}
	c.send(notification("notifications/message", object(nil).with("level", quote(level)).with("logger", quote("petrock")).with("data", quote(said)).json()))
}

// say logs a line, and sends it to the client.
func (c *session) say(level, said string) {
	c.sup.logf("%s", said)
	c.notice(level, said)
}

func (sl *slot) args(l launch) []string {
	o := sl.s.sup.o
	if sl.kind == petrockKind {
		return []string{"mcp", "--prefix", Prefix, fmt.Sprintf("--no-net=%t", o.NoNet), fmt.Sprintf("--no-exec=%t", o.NoExec)}
	}
	args := []string{"mcp"}
	if l.readOnly != "" {
		args = append(args, "--read-only="+l.readOnly)
	}
	return append(args, o.Args...)
}

// env returns the variables that are added to the environment for a program. Programs that the dev
// server runs use the data of the project's server.
func (sl *slot) env(prog program) map[string]string {
	env := map[string]string{}
	if data := flagValue(sl.s.sup.o.Args, "data"); data != "" && sl.kind == petrockKind {
		env[project.Variable(sl.s.sup.o.Name, "data")] = data
	}
	if stamp, err := project.Stamp(prog.path); err == nil && prog.features != "" {
		env[project.Variable(sl.s.sup.o.Name, "features")] = stamp + " " + prog.features
	}
	return env
}

func (sl *slot) folder() string {
	if sl.kind == petrockKind {
		return petrockFolder
	}
	return "cmd/" + sl.s.sup.o.Name
}
