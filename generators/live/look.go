package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/plumbing/project"
)

// New starts to watch and to build a project.
func New(o Options) (*Supervisor, error) {
	o.environ = childEnviron(o)
	var guard io.Closer = io.NopCloser(nil)
	if o.Guard {
		variable, stop, err := startGuard()
		if err != nil {
			return nil, err
		}
		o.environ, guard = append(o.environ, variable), stop
	}
	b, err := newBuilder(o.Root, o.environ)
	if err != nil {
		return nil, errors.Join(err, guard.Close())
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
		close:    func() error { w.close(); log.close(); return errors.Join(b.close(), guard.Close()) },
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

// textOf returns the first text of a tool's result.
func textOf(result json.RawMessage) string {
	for _, block := range elements(member(result, "content")) {
		return text(member(block, "text"))
	}
	return string(result)
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

// lookSoon asks for a look at the files.
func (s *Supervisor) lookSoon() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}
