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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

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

// childEnviron returns the environment of the servers and of the go command.
func childEnviron(o Options) []string {
	environ, added := os.Environ(), goEnviron(o.Root)
	if data := flagValue(o.Args, "data"); data != "" { // the dev server looks at the events of the server
		variable := project.Variable(o.Name, "data")
		added[variable] = data
		environ = slices.DeleteFunc(environ, func(v string) bool { return strings.HasPrefix(v, variable+"_FILE=") })
	}
	// Servers of one supervisor accept each other's requestState. The system seeds the generator of
	// math/rand; with crypto/rand, the client would wait longer for the first build.
	if variable := project.Variable(o.Name, "state_key"); os.Getenv(variable)+os.Getenv(variable+"_FILE") == "" {
		added[variable] = fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())
	}
	for name, value := range added {
		environ = append(environ, name+"="+value)
	}
	return environ
}

// flagValue returns the last value of a flag in arguments, or "".
func flagValue(args []string, name string) (value string) {
	for i, arg := range args {
		if given, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			value = given
		} else if arg == "--"+name && i+1 < len(args) {
			value = args[i+1]
		}
	}
	return value
}

// Close stops watching and building. Sessions must have ended.
func (s *Supervisor) Close() error {
	s.cancel()
	<-s.done
	return s.files.close()
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

func (s *Supervisor) logf(format string, args ...any) {
	fmt.Fprintf(s.o.Log, "petrock: "+format+"\n", args...)
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

// run builds at the start and after each change.
func (s *Supervisor) run(ctx context.Context) {
	defer close(s.done)
	said := ""
	for {
		err := s.look(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != said { // the next look may have the same error
			s.logf("%v", err)
		}
		said = fmt.Sprint(err)
		select {
		case <-s.files.changes:
			s.update(func() { s.outdated = true })
		case <-time.After(scanInterval):
		case <-s.kick:
		case <-ctx.Done():
			return
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

// look compares the files with those of the last build, and builds if they differ.
func (s *Supervisor) look(ctx context.Context) error {
	s.mu.Lock()
	s.begun++
	s.mu.Unlock()
	defer s.update(func() { s.ended, s.outdated = s.begun, len(s.files.changes) > 0 })
	now, err := s.files.snapshot()
	if err != nil {
		return err
	}
	s.mu.Lock()
	before, mustDerive := s.handled, s.mustDerive
	s.mustDerive = false
	s.mu.Unlock()
	isFirst := before == nil
	began := time.Now()
	var derived error
	if !isFirst && (mustDerive || s.deriving != nil || len(now.changed(before)) > 0) {
		derived = s.derive(ctx)
		if now, err = s.files.snapshot(); err != nil {
			return err
		}
	}
	changed := now.changed(before)
	if !isFirst && len(changed) == 0 {
		return derived
	}
	s.update(func() { s.outdated = true })
	isNew, err := s.compile(ctx, serverKind, now, derived)
	if isFirst || slices.ContainsFunc(changed, mayAffectPetrock) {
		_, petrockErr := s.compile(ctx, petrockKind, now, nil)
		err = errors.Join(err, petrockErr)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		s.say("error", err.Error()+"\nThe last good build runs read-only, if there is one.")
	case derived != nil:
		s.say("error", derived.Error())
	case isNew:
		s.logf("built cmd/%s in %v", s.o.Name, time.Since(began).Round(time.Millisecond))
	}
	s.update(func() { s.handled = now })
	return nil
}

// mayAffectPetrock reports whether a change of a file may affect the program with the dev server.
func mayAffectPetrock(path string) bool {
	return path == "go.mod" || path == "go.sum" || strings.HasPrefix(path, "core/") || strings.HasPrefix(path, "generators/")
}

// compile builds a server from the files in a snapshot. It reports whether the program is new.
// derived is why derived files could not be updated, which may be why the server does not compile.
func (s *Supervisor) compile(ctx context.Context, k kind, files snapshot, derived error) (isNew bool, err error) {
	var built program
	if k == serverKind {
		built, err = s.buildServer(ctx, files)
	} else {
		built, err = s.files.build(ctx, petrockFolder)
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		err = errors.Join(derived, err)
	}
	var before, good program
	s.update(func() {
		b := &s.builds[k]
		good = b.good
		b.count++
		if b.err = err; err == nil {
			before, b.program = b.program, built
		}
	})
	isNew = err == nil && before.id != built.id
	if isNew && before.path != "" && before.path != good.path {
		s.files.release(before) // servers that run it keep it until they end
	}
	return isNew, err
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

// buildServer builds the project's server from the files in a snapshot. If files have changed
// since, the program has no fingerprints, because they may be those of other code.
func (s *Supervisor) buildServer(ctx context.Context, files snapshot) (program, error) {
	s.mu.Lock()
	last := s.builds[serverKind].program
	s.mu.Unlock()
	built, err := s.files.build(ctx, "cmd/"+s.o.Name)
	if err != nil {
		return built, err
	}
	if built.id == last.id {
		built.features = last.features // a program that has not changed is not restarted
		return built, nil
	}
	features, err := s.files.features(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.logf("the server uses no snapshots of earlier builds: %v", err)
		}
		return built, nil
	}
	if now, err := s.files.snapshot(); err == nil && len(now.changed(files)) == 0 {
		built.features = features
	}
	return built, nil
}

// derive writes derived files with a dev server, if one runs. A dev server does one call at a time,
// and tests can take long. If it is busy, derive returns, and another look follows.
func (s *Supervisor) derive(ctx context.Context) error {
	if s.deriving != nil {
		select {
		case <-s.deriving: // of files as they were before
			s.deriving = nil
		default:
			return nil
		}
	}
	p := s.devServer()
	if p == nil {
		return nil
	}
	derived := make(chan error, 1)
	go func() {
		derived <- p.derive(ctx)
		s.lookSoon()
	}()
	select {
	case err := <-derived:
		return err
	case <-time.After(s.files.patience):
		s.deriving = derived
		return nil
	}
}

// derive calls the dev server's tool build.
func (p *peer) derive(ctx context.Context) error {
	params := object(nil).with("name", quote(Prefix+"build")).with("arguments", []byte(`{"no_compile":true}`)).with("_meta", statelessMeta()).json()
	result, err := p.call(ctx, "tools/call", params)
	isRefused := isTrue(result, "isError") || len(elements(member(result, "structuredContent", "refused"))) > 0
	if err == nil && isRefused {
		err = errors.New(textOf(result))
	}
	return err
}

// devServer returns the dev server of a session, or nil if none runs.
func (s *Supervisor) devServer() *peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.sessions {
		if p := session.slots[petrockKind].current.Load(); p != nil {
			return p
		}
	}
	return nil
}

// textOf returns the first text of a tool's result.
func textOf(result json.RawMessage) string {
	for _, block := range elements(member(result, "content")) {
		return text(member(block, "text"))
	}
	return string(result)
}

// lookSoon asks for a look at the files.
func (s *Supervisor) lookSoon() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// settle waits until the files as they are now have been built, or do not compile.
func (s *Supervisor) settle(ctx context.Context) error {
	now, err := s.files.snapshot()
	if err != nil {
		return err
	}
	s.mu.Lock()
	next := s.begun + 1
	s.mu.Unlock()
	s.lookSoon()
	return s.await(ctx, func() bool { return s.ended >= next || s.handled != nil && len(now.changed(s.handled)) == 0 })
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
