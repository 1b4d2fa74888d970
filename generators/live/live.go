// Package live connects an MCP client to a project under development: to the project's server and
// to petrock's dev server, in one list. It watches the files, builds, and replaces the servers
// while the client keeps its connection.
//
// A [Supervisor] watches and builds. Each connection of a client is a session with two slots. A
// slot keeps one server running as a child process, and a peer is the connection to it. Messages
// are forwarded byte for byte where possible; results get the build of their server in _meta.
//
// While the source on disk does not compile or its server does not start, the last good build runs
// with --read-only, so that it writes no events that a mended build cannot read. Results of
// petrock's tools that write, and of project_status, include the reason.
//
// The package imports little, so that the first start, with an empty build cache, is quick.
package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
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

// New starts to watch and to build a project.
func New(o Options) (*Supervisor, error) {
	o.environ = childEnviron(o)
	b, err := newBuilder(o.Root, o.environ)
	if err != nil {
		return nil, err
	}
	log := newLogQueue(o.Log)
	o.Log = log
	w := newWatcher(o.Root, o.Log)
	return start(o, files{
		snapshot: w.snapshot,
		changes:  w.changed,
		build:    b.build,
		features: b.fingerprints,
		release:  b.release,
		close:    func() error { w.close(); log.close(); return b.close() },
		patience: 10 * time.Second, firstAnswer: 3 * time.Second, slowStart: 10 * time.Second,
	}), nil
}

func start(o Options, f files) *Supervisor {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Supervisor{
		o: o, files: f, cancel: cancel,
		done: make(chan struct{}), kick: make(chan struct{}, 1), changed: make(chan struct{}), sessions: map[*session]struct{}{},
	}
	go s.run(ctx)
	return s
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
