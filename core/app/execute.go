package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/petrock/petrock/core/strictjson"
)

// Execute executes a command and returns its result as JSON. If there is no error, the command is
// durable.
func Execute[S, Out any](ctx context.Context, a *App, c Commander[S, Out]) (json.RawMessage, error) {
	return a.execute(ctx, c)
}

// Do executes a command with the app of ctx: the context of a worker, or of a call to a server with
// features. The result is a copy.
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

// ErrRefused matches, with [errors.Is], the error of a command that its Check refused. Other errors
// are failures.
var ErrRefused = errors.New("the command was refused")

// A refused is the error of a Check.
type refused struct{ error }

func (r refused) Is(target error) bool { return target == ErrRefused }
func (r refused) Unwrap() error        { return r.error }

// A pending command waits for its execution and its result.
type pending struct {
	ctx     context.Context
	of      *commandType
	command command
	data    json.RawMessage
	key     string
	given   string // the key as the caller knows it
	loose   bool   // any command of the type may have used the key before

	progress atomic.Int32
	result   json.RawMessage
	err      error
	refused  bool          // err stands, although the commands executed with it are executed again
	wake     chan struct{} // receives when the caller must lead, or has a result
}

// Progress of a pending command.
const (
	waiting  = iota
	taken    // it is being executed
	answered // it has a result or an error
	gone     // its caller has given up
)

// A queue holds the waiting commands of this process. One of their callers leads: it executes all
// that wait, in one commit, and then hands over to the next.
type queue struct {
	mu   sync.Mutex
	list []*pending
	many int  // usual size of a batch
	led  bool // a caller leads
}

// execute queues a command and waits for its result.
func (a *App) execute(ctx context.Context, c any) (json.RawMessage, error) {
	p, err := a.prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	if !a.queue.put(p) {
		select {
		case <-p.wake:
		case <-ctx.Done():
			if a.queue.giveUp(p) {
				return nil, context.Cause(ctx)
			}
			<-p.wake // soon
		}
	}
	if p.progress.Load() == answered {
		return p.result, p.err
	}
	defer a.queue.handOver()
	for p.progress.Load() != answered {
		if ctx.Err() != nil && p.progress.CompareAndSwap(waiting, gone) {
			return nil, context.Cause(ctx)
		}
		a.executeSome(ctx)
	}
	return p.result, p.err
}

// prepare makes a pending command. The executed command is a copy, decoded from the JSON that the
// log stores.
func (a *App) prepare(ctx context.Context, c any) (*pending, error) {
	kind := reflect.TypeOf(c)
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	of := a.commands[kind]
	if of == nil {
		return nil, fmt.Errorf("execute %v: it is not a command of any feature", kind)
	}
	in := scopeOf(ctx)
	if in.inside {
		return nil, fmt.Errorf("%s cannot be executed in a check or a query; execute it in a worker", of.eventType)
	}
	data, err := strictjson.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encoding the command %s: %w", of.eventType, err)
	}
	p := &pending{ctx: ctx, of: of, data: data, wake: make(chan struct{}, 1)}
	if p.command, err = of.decode(data); err != nil {
		return nil, fmt.Errorf("reading the command %s back from its JSON: %w", of.eventType, err)
	}
	if keyed, ok := c.(Keyed); ok {
		p.key = keyed.IdempotencyKey()
	}
	p.given = p.key
	if key, ok := ctx.Value(idempotencyKey{}).(callerKey); ok {
		p.key, p.given = key.stored, key.given
	} else if in.work != nil && p.key == "" {
		p.key, p.loose = in.work.key(of.eventType, data), true
		p.given = p.key
	}
	if strings.HasPrefix(p.key, workPrefix) && !p.loose {
		return nil, fmt.Errorf("the idempotency key %q starts with %s, which is reserved for workers; use another one", p.key, workPrefix)
	}
	const most = 256
	if len(p.given) > most {
		return nil, fmt.Errorf("the idempotency key has %d bytes; the limit is %d", len(p.given), most)
	}
	return p, nil
}

// put queues a command, and reports whether its caller must lead.
func (q *queue) put(p *pending) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = append(q.list, p)
	lead := !q.led
	q.led = true
	return lead
}

// handOver makes the caller of the first waiting command lead.
func (q *queue) handOver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.list) > 0 {
		if p := q.list[0]; p.progress.Load() == waiting {
			p.wake <- struct{}{}
			return
		}
		q.list = q.list[1:] // its caller has given up
	}
	q.led, q.list = false, nil
}

// giveUp reports whether a caller that does not lead may return early.
func (q *queue) giveUp(p *pending) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(p.wake) == 0 && p.progress.CompareAndSwap(waiting, gone)
}

// gather yields to callers that were answered just now: their next commands can share this commit.
// It does not block.
func (q *queue) gather() {
	for range 8 {
		q.mu.Lock()
		enough := len(q.list) >= q.many
		q.mu.Unlock()
		if enough {
			return
		}
		runtime.Gosched()
	}
}

// take removes the commands whose callers still wait. From here on those callers wait for the
// result.
func (q *queue) take() []*pending {
	const most = 256
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch []*pending
	n := 0
	for ; n < len(q.list) && len(batch) < most; n++ {
		if p := q.list[n]; p.progress.CompareAndSwap(waiting, taken) {
			batch = append(batch, p)
		}
	}
	q.list = append(q.list[:0], q.list[n:]...)
	q.many = max(len(batch), q.many*7/8)
	return batch
}

// putBack returns commands to the front of the queue, decoded again, because Apply may have changed
// them.
func (q *queue) putBack(batch []*pending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, p := range batch {
		p.command, p.err = p.of.decode(p.data)
		p.result = nil
		p.progress.Store(waiting)
	}
	q.list = append(batch, q.list...)
}

// errAgain means that a try had no effect, and the commands must be executed again.
var errAgain = errors.New("again")

// executeSome executes queued commands in one transaction, and answers their callers. The caller
// leads; ctx is the context of its own command, which is in the queue.
func (a *App) executeSome(ctx context.Context) {
	if err := a.refresh(ctx); err != nil {
		if ctx.Err() == nil { // otherwise the caller has given up
			a.answer(a.queue.take(), err)
		}
		return
	}
	var batch []*pending
	locked, grown := false, false
	err := a.store.Write(ctx, func(tx Tx) error {
		if a.making.Load() {
			return errAgain
		}
		a.queue.gather()
		batch = a.queue.take()
		a.mu.Lock() // until it is durable: no reader may see changes that could be lost
		locked = true
		records, err := a.tryAll(tx, batch)
		if err != nil || len(records) == 0 {
			return err
		}
		grown = true
		return tx.Append(records...)
	})
	if locked {
		a.stale = a.stale || grown && err != nil
		a.mu.Unlock()
	}
	switch {
	case errors.Is(err, errAgain), errors.Is(err, ErrTaken):
		var rest []*pending
		for _, p := range batch {
			if p.refused {
				p.answer()
			} else {
				rest = append(rest, p)
			}
		}
		a.queue.putBack(rest)
	case err != nil && !locked && ctx.Err() != nil:
		// The caller has given up.
	case err != nil && !locked:
		a.answer(a.queue.take(), fmt.Errorf("writing to the log: %w", err))
	default:
		if err != nil {
			err = fmt.Errorf("writing to the log: %w", err)
		}
		a.answer(batch, err)
		if err == nil && grown {
			a.signal()
		}
	}
}

// answer wakes callers, with err if it is not nil, and otherwise with the result of their commands.
func (a *App) answer(batch []*pending, err error) {
	for _, p := range batch {
		if err != nil {
			p.result, p.err = nil, err
		}
		p.answer()
	}
}

// answer wakes the caller.
func (p *pending) answer() {
	p.progress.Store(answered)
	select {
	case p.wake <- struct{}{}:
	default: // it leads, and is awake
	}
}

// tryAll executes commands in order, and returns the records to append. The states are locked.
func (a *App) tryAll(tx Tx, batch []*pending) ([]Record, error) {
	if !a.sound() {
		return nil, errAgain // they are rebuilt outside of the transaction, which would block other processes
	}
	stamp, err := tx.Stamp()
	if err != nil {
		return nil, err
	}
	if err := a.follow(tx, stamp); err != nil {
		if a.stale {
			return nil, errors.Join(errAgain, err)
		}
		return nil, err
	}
	records := make([]Record, 0, len(batch))
	for _, p := range batch {
		if p.key != "" {
			known, err := a.executed(tx, p, records)
			if err != nil {
				a.stale = a.stale || len(records) > 0
				return nil, err
			}
			if known {
				continue
			}
		}
		r, err := a.try(p)
		if a.stale {
			p.err, p.refused = err, true
			return nil, errAgain
		}
		if p.err = err; err == nil {
			records = append(records, r)
			a.at, a.lastID = r.Seq, r.ID
		}
	}
	return records, nil
}

// executed finds the result of a command whose key was used before, in the log or in the new
// records.
func (a *App) executed(tx Tx, p *pending, records []Record) (bool, error) {
	before, found, err := tx.Find(p.key)
	if err != nil {
		return false, err
	}
	for _, r := range records {
		if r.Key == p.key {
			before, found = r, true
		}
	}
	switch {
	case !found:
		return false, nil
	case before.Type != p.of.eventType || !p.loose && string(before.Data) != string(p.data):
		p.err = fmt.Errorf("the idempotency key %q was used for another command, event %d (%s); use a new one", p.given, before.Seq, before.Type)
	default:
		p.result = before.Result
	}
	return true, nil
}

// try executes one command. If it leaves the states stale, they must be rebuilt.
func (a *App) try(p *pending) (r Record, err error) {
	sound := true // nothing is changed yet
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("%s: %w", p.of.eventType, panicked(caught))
			sound = false
		}
		a.stale = a.stale || !sound
	}()
	if stuck := p.of.feature.stuck; stuck != nil {
		return r, stuck
	}
	state := p.of.feature.state
	if err := p.command.check(scope{app: a, inside: true}.with(p.ctx), state); err != nil {
		if _, stuck := errors.AsType[*StuckError](err); stuck {
			return r, err // it has asked another feature, which is stuck
		}
		return r, refused{err}
	}
	r = Record{
		Event:   Event{a.at + 1, a.o.NewID(), storable(a.o.Now())},
		Type:    p.of.eventType,
		Version: p.of.version,
		Data:    p.data,
		Key:     p.key,
	}
	sound = false
	result, err := strictjson.MarshalOutput(p.command.apply(state, r.Event))
	if err != nil {
		return r, fmt.Errorf("encoding the result of %s: %w", p.of.eventType, err)
	}
	sound = true
	if p.result = result; p.key != "" {
		r.Result = result
	}
	return r, nil
}
