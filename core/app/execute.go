package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/panics"
	"github.com/petrock/petrock/core/strictjson"
)

// Do executes a command with the app of ctx: the context of a worker, or of a call to a server with
// features. When it returns without an error, the command is durable. The output is a copy.
func Do[S, Out any](ctx context.Context, c Commander[S, Out]) (out Out, err error) {
	s := scopeOf(ctx)
	if s.app == nil {
		return out, fmt.Errorf("execute %T: no app in the context; use the context of a worker or a tool call, or app.With", c)
	}
	raw, err := s.app.execute(ctx, c)
	if err != nil {
		return out, err
	}
	return out, strictjson.Unmarshal(raw, &out)
}

// DoRaw is [Do] with an explicit app, and returns the output as JSON. Use it to pass the output on
// without decoding it, as tools do.
func DoRaw[S, Out any](ctx context.Context, a *App, c Commander[S, Out]) (json.RawMessage, error) {
	return a.execute(ctx, c)
}

// DoOlderRaw is [DoRaw] for a command with [CommandType.Writes]. old has the type of the version
// that the command writes. Tools of such commands use it: their clients send the older version.
func DoOlderRaw(ctx context.Context, a *App, old any) (json.RawMessage, error) {
	return a.execute(ctx, old)
}

// Input returns the input of a command's tool for a command of its current type: the JSON of its
// Downgrade if the command writes an older version, and c itself otherwise. Package apptest uses
// it, so that tests need not change with [CommandType.Writes].
func (a *App) Input(c any) (any, error) {
	t := a.commands[reflect.TypeOf(c)]
	if t == nil || t.writes == t.version {
		return c, nil
	}
	data, err := strictjson.Marshal(c)
	if err == nil {
		data, err = t.downgradeWritten(data)
	}
	if err != nil {
		return nil, fmt.Errorf("input of %s: %w", t.eventType, err)
	}
	return json.RawMessage(data), nil
}

// ErrRefused matches, with [errors.Is], the error of a Check. Other errors are failures.
var ErrRefused = errors.New("the command was refused")

// refused is the error of a Check. It matches [ErrRefused].
type refused struct{ error }

func (r refused) Is(target error) bool { return target == ErrRefused }
func (r refused) Unwrap() error        { return r.error }

// execute queues a command and waits for its result.
func (a *App) execute(ctx context.Context, c any) (json.RawMessage, error) {
	p, err := a.prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	return a.submit(ctx, p)
}

// save changes documents. f may be called again after a conflict. If it returns errLost, it has
// changed nothing; other errors must be of the transaction.
func (a *App) save(ctx context.Context, f func(eventlog.Tx) error) error {
	_, err := a.submit(ctx, &pending{ctx: ctx, save: f, wake: make(chan struct{}, 1)})
	return err
}

// submit queues p and waits for its result.
func (a *App) submit(ctx context.Context, p *pending) (json.RawMessage, error) {
	if !a.queue.put(p) {
		select {
		case <-p.wake:
		case <-ctx.Done():
			if a.queue.abandon(p) {
				return nil, context.Cause(ctx)
			}
			<-p.wake // the leader has taken p, or this caller must lead
		}
	}
	if p.progress.Load() == answered {
		return p.result, p.err
	}
	defer a.queue.handOver()
	for p.progress.Load() != answered {
		if ctx.Err() != nil && p.progress.CompareAndSwap(waiting, abandoned) {
			return nil, context.Cause(ctx)
		}
		a.executeBatch(ctx)
	}
	return p.result, p.err
}

// prepare returns a pending command. Its command is a copy, decoded from the JSON that the log
// stores.
func (a *App) prepare(ctx context.Context, c any) (*pending, error) {
	kind := reflect.TypeOf(c)
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	t := cmp.Or(a.commands[kind], a.written[kind])
	if t == nil {
		return nil, fmt.Errorf("execute %v: not a command of any feature", kind)
	}
	if t.retired {
		return nil, fmt.Errorf("execute %s: the command is retired", t.eventType)
	}
	in := scopeOf(ctx)
	if in.holdsLock {
		return nil, fmt.Errorf("execute %s: not allowed in a check or a query; execute it in a worker", t.eventType)
	}
	if a.o.ReadOnly != "" {
		return nil, fmt.Errorf("execute %s: the server is read-only: %s", t.eventType, a.o.ReadOnly)
	}
	data, err := strictjson.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode command %s: %w", t.eventType, err)
	}
	p := &pending{ctx: ctx, cmdType: t, data: data, actor: a.actor(ctx, in), wake: make(chan struct{}, 1)}
	if t.writes != t.version && kind == t.kind {
		if p.data, err = t.downgradeWritten(data); err != nil {
			return nil, fmt.Errorf("execute %s: %w", t.eventType, err)
		}
	}
	if err := p.decode(); err != nil {
		return nil, err
	}
	if p.cause, err = a.cause(ctx, in); err != nil {
		return nil, fmt.Errorf("encode the cause of %s: %w", t.eventType, err)
	}
	keyed, ok := c.(Keyed)
	if !ok {
		keyed, ok = p.command.value().(Keyed)
	}
	if ok {
		p.givenKey = keyed.IdempotencyKey()
		p.key = storedKey("", p.givenKey)
	}
	if key, ok := ctx.Value(idempotencyKey{}).(callerKey); ok {
		p.key, p.givenKey = key.stored, key.given
	} else if in.call != nil && p.key == "" {
		p.key, p.typeOnly = in.call.nextKey(t.eventType, p.data), true
		p.givenKey = p.key
	}
	if strings.HasPrefix(p.key, workPrefix) && !p.typeOnly {
		return nil, fmt.Errorf("idempotency key %q starts with %s, which is reserved for workers; use another key", p.key, workPrefix)
	}
	const maxKey = 256
	if len(p.givenKey) > maxKey {
		return nil, fmt.Errorf("idempotency key has %d bytes; the limit is %d", len(p.givenKey), maxKey)
	}
	return p, nil
}

// maxTries limits the tries of a command that loses its connection to the store each time, for
// example because of its size.
const maxTries = 10

// errRetry means that a batch had no effect and must be executed again.
var errRetry = errors.New("retry")

// errLost means that another process has the lease of the worker now.
var errLost = errors.New("another process runs the worker")

// executeBatch executes queued commands in one transaction, and answers their callers. The caller
// must lead; ctx is the context of its own command, which is in the queue.
func (a *App) executeBatch(ctx context.Context) {
	if err := a.refresh(ctx); err != nil {
		if ctx.Err() == nil { // otherwise the caller has given up
			a.answer(a.queue.take(), err)
		}
		return
	}
	var c *commit // nil until the transaction begins
	err := a.store.Write(ctx, func(tx eventlog.Tx) error {
		if a.rebuilding.Load() {
			return errRetry
		}
		a.queue.gather()
		c = a.beginCommit(a.queue.take())
		return c.execute(tx)
	})
	switch {
	case c != nil:
		c.end(err)
	case err == nil, errors.Is(err, errRetry), errors.Is(err, eventlog.ErrConflict), ctx.Err() != nil:
		// Nothing has been taken from the queue. The caller tries again, or has given up.
	default:
		a.answer(a.queue.take(), fmt.Errorf("write to the log: %w", err))
	}
}

// A commit is a transaction of commands. From beginCommit to end, it holds the lock of the app, so
// that no reader sees changes that could be lost.
type commit struct {
	app     *App
	batch   []*pending
	before  int64 // the last event before the transaction
	appends bool  // the transaction has new events
}

// beginCommit locks a.mu. The caller must call end.
func (a *App) beginCommit(batch []*pending) *commit {
	a.mu.Lock()
	return &commit{app: a, batch: batch, before: a.seq}
}

// execute executes the commands and appends their events.
func (c *commit) execute(tx eventlog.Tx) error {
	records, err := c.app.executeAll(tx, c.batch)
	if err != nil || len(records) == 0 {
		return err
	}
	c.appends = true
	return tx.Append(records...)
}

// end unlocks a.mu after the transaction, which failed if err is not nil. It answers the commands,
// or returns them to the queue.
func (c *commit) end(err error) {
	a := c.app
	a.stale = a.stale || c.appends && err != nil
	if a.seq > c.before { // with events of this process, or of others
		defer a.signalGrowth()
	}
	a.mu.Unlock()
	switch {
	case err == nil:
		a.answer(c.batch, nil)
	case errors.Is(err, errRetry), errors.Is(err, eventlog.ErrConflict):
		a.queue.putBack(retryable(c.batch, err))
	default:
		a.answer(c.batch, fmt.Errorf("write to the log: %w", err))
		if errors.Is(err, eventlog.ErrUnavailable) { // the queued commands have waited for that long
			a.answer(a.queue.take(), &eventlog.Error{Err: fmt.Errorf("write to the log: %w", eventlog.ErrUnavailable)})
		}
	}
}

// retryable returns the commands of a batch that can be tried again after a conflict or errRetry.
// It answers the others.
func retryable(batch []*pending, err error) (rest []*pending) {
	for _, p := range batch {
		if errors.Is(err, eventlog.ErrConflict) && !p.final {
			p.tries++
			p.final = p.tries == maxTries
			p.err = &eventlog.Error{Err: fmt.Errorf("write to the log: %w", err)}
		}
		if p.final {
			p.answer()
		} else {
			rest = append(rest, p)
		}
	}
	return rest
}

// answer wakes the callers of a batch. If err is not nil, it replaces their results.
func (a *App) answer(batch []*pending, err error) {
	for _, p := range batch {
		if err != nil {
			p.result, p.err = nil, err
		}
		p.answer()
	}
}

// executeAll executes commands in order, and returns the records to append. a.mu is held.
func (a *App) executeAll(tx eventlog.Tx, batch []*pending) ([]eventlog.Record, error) {
	if !a.isValid() {
		return nil, errRetry // a rebuild within the transaction would block other processes
	}
	stamp, err := tx.Stamp()
	if err != nil {
		return nil, err
	}
	if err := a.follow(tx, stamp); err != nil {
		if a.stale {
			return nil, errors.Join(errRetry, err)
		}
		return nil, err
	}
	for _, p := range batch {
		if p.save == nil {
			continue
		}
		if p.err = p.save(tx); p.err != nil && !errors.Is(p.err, errLost) {
			return nil, p.err
		}
	}
	executed, err := findKeys(tx, batch)
	if err != nil {
		return nil, err
	}
	records := make([]eventlog.Record, 0, len(batch))
	for _, p := range batch {
		if p.save != nil {
			continue
		}
		if before, ok := executed[p.key]; ok {
			p.repeat(before)
			continue
		}
		r, err := a.executeOne(p)
		if a.stale {
			p.err, p.final = err, true
			return nil, errRetry
		}
		p.err = err
		if err == nil {
			records = append(records, r)
			a.seq, a.lastID = r.Seq, r.ID
			if r.Key != "" {
				executed[r.Key] = r
			}
		}
	}
	return records, nil
}

// findKeys returns the records of commands that were executed before, by their keys.
func findKeys(tx eventlog.Tx, batch []*pending) (map[string]eventlog.Record, error) {
	var keys []string
	for _, p := range batch {
		if p.key != "" {
			keys = append(keys, p.key)
		}
	}
	if keys == nil {
		return map[string]eventlog.Record{}, nil
	}
	return tx.Find(keys...)
}

// repeats reports whether an event of the same type is the same command, which another build may
// have stored in another version.
func (p *pending) repeats(before eventlog.Record) bool {
	t := p.cmdType
	if before.Version == t.writes || !t.canRead(before.Version) {
		return string(before.Data) == string(p.data)
	}
	c, err := t.decodePayload(before.Payload())
	return err == nil && reflect.DeepEqual(c.value(), p.command.value())
}

// repeat answers a command with the result of the one that has the same key.
func (p *pending) repeat(before eventlog.Record) {
	if before.Type != p.cmdType.eventType || !p.typeOnly && !p.repeats(before) {
		p.err = fmt.Errorf("idempotency key %q was used for another command or with other arguments: event %d (%s); use a new key", p.givenKey, before.Seq, before.Type)
		return
	}
	p.result = before.Result
}

// executeOne executes one command. If it fails after changing the state, it sets a.stale.
func (a *App) executeOne(p *pending) (r eventlog.Record, err error) {
	changed := false
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("%s: %w", p.cmdType.eventType, panics.Error(caught))
			changed = true // Check may panic after changing the state too
		}
		a.stale = a.stale || changed
	}()
	if stuck := p.cmdType.feature.stuck; stuck != nil {
		return r, stuck
	}
	state := p.cmdType.feature.state
	if err := p.command.check(scope{app: a, holdsLock: true, inCheck: true, actor: p.actor}.with(p.ctx), state); err != nil {
		if _, stuck := errors.AsType[*StuckError](err); stuck {
			return r, err // of another feature, which Check queried
		}
		return r, refused{err}
	}
	r = eventlog.Record{
		Seq: a.seq + 1, ID: a.o.NewID(), Time: storable(a.o.Now()), Actor: p.actor,
		Type:    p.cmdType.eventType,
		Version: p.cmdType.writes,
		Data:    p.data,
		Key:     p.key,
		Cause:   p.cause,
	}
	changed = true
	result, err := a.outputs.Encode(p.command.apply(state, eventOf(r)))
	if err != nil {
		return r, fmt.Errorf("encode the output of %s: %w", p.cmdType.eventType, err)
	}
	changed = false // the caller commits the record
	p.result = result
	if p.key != "" {
		r.Result = result
	}
	return r, nil
}
