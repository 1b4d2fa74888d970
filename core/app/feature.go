package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/petrock/petrock/core/strictjson"
)

// A Feature is a state, the commands that change it, the queries that read it, and workers. Derived
// code builds one from a package.
type Feature struct {
	Name     string // such as posts
	State    State
	Commands []Command
	Queries  []Query
	Workers  []Worker

	// Map replaces events that no command of the feature can read: those of a removed command, or
	// of a version without an [Older]. It returns the payload that replaces the event's, which may
	// be of an older version, the same payload if it does not know it, or [ErrDrop] to ignore the
	// event. Map gets the events of its own feature first, then those that no other feature knows.
	// It may be nil.
	Map func(Payload) (Payload, error)
}

// ErrDrop is returned by [Feature.Map] for an event that is to be ignored.
var ErrDrop = errors.New("the event is dropped")

// A Commander is a command: a struct whose fields are its input, as JSON.
type Commander[S, Out any] interface {
	// Check returns an error if the command cannot be executed now. It must not change the state.
	Check(ctx context.Context, s *S) error

	// Apply changes the state and returns the output of the command. It must depend only on the
	// state, the command and the event, so that replay has the same result. It cannot fail: Check
	// must refuse what Apply cannot do.
	Apply(s *S, e Event) Out
}

// An Answerer is a query: a struct whose fields are its input. It must not change the state. It may
// return a part of the state, which is encoded before the state changes.
type Answerer[S, Out any] interface {
	Answer(ctx context.Context, s *S) (Out, error)
}

// A Keyed command has its own idempotency key, which may be empty. See [WithKey].
type Keyed interface {
	IdempotencyKey() string
}

// A State is the type of a feature's state.
type State struct {
	kind  reflect.Type // without the pointer
	begin func() any
}

// StateOf returns the state of a feature, with its constructor.
func StateOf[S any](begin func() *S) State {
	return State{reflect.TypeFor[S](), func() any { return begin() }}
}

// A Command is a type of commands.
type Command struct {
	name    string
	version int
	kind    reflect.Type
	state   reflect.Type
	older   []Older
	decode  func(data []byte) (command, error)
	wrap    func(value any) command
}

// CommandOf returns the commands of type C, whose events have the type FEATURE/name in the log.
// Raise the version whenever C can no longer read its older events, and add an [OlderOf]. Events
// are read exactly: an unknown, missing or mistyped field stops the server at startup. A new field
// needs no new version if it is optional: a pointer, omitempty or omitzero.
func CommandOf[C Commander[S, Out], S, Out any](name string, version int, older ...Older) Command {
	decoder := strictjson.NewExactDecoder(reflect.TypeFor[C]())
	return Command{name, version, reflect.TypeFor[C](), reflect.TypeFor[S](), older,
		func(data []byte) (command, error) {
			made := &typedCommand[C, S, Out]{}
			err := decoder.Decode(data, &made.c)
			return made, err
		},
		func(value any) command { return &typedCommand[C, S, Out]{value.(C)} },
	}
}

// A command is a decoded command.
type command interface {
	check(ctx context.Context, state any) error
	apply(state any, e Event) any
	value() any
}

type typedCommand[C Commander[S, Out], S, Out any] struct{ c C }

func (t *typedCommand[C, S, Out]) check(ctx context.Context, state any) error {
	return t.c.Check(ctx, state.(*S))
}

func (t *typedCommand[C, S, Out]) apply(state any, e Event) any { return t.c.Apply(state.(*S), e) }

func (t *typedCommand[C, S, Out]) value() any { return t.c }

// A Query is a type of queries.
type Query struct {
	name  string
	state reflect.Type
}

// QueryOf returns the queries of type Q.
func QueryOf[Q Answerer[S, Out], S, Out any](name string) Query {
	return Query{name, reflect.TypeFor[S]()}
}

// Read answers a query as JSON. It sees everything that was committed before it began, in any
// process.
func Read[S, Out any](ctx context.Context, a *App, q Answerer[S, Out]) (json.RawMessage, error) {
	return a.read(ctx, reflect.TypeFor[S](), func(ctx context.Context, state any) (any, error) { return q.Answer(ctx, state.(*S)) })
}

// Ask answers a query with the app of ctx: the context of a worker, a check, another query, or a
// call to a server with features. The answer is a copy.
func Ask[S, Out any](ctx context.Context, q Answerer[S, Out]) (out Out, err error) {
	s := scopeOf(ctx)
	if s.app == nil {
		return out, fmt.Errorf("ask %T: no app in the context; use the context of a worker, a check, a query or a tool call, or app.With", q)
	}
	raw, err := Read(ctx, s.app, q)
	if err != nil {
		return out, err
	}
	return out, strictjson.Unmarshal(raw, &out)
}

// read calls f with the state of a type, and encodes the result before the state changes.
func (a *App) read(ctx context.Context, kind reflect.Type, f func(context.Context, any) (any, error)) (json.RawMessage, error) {
	of := a.states[kind]
	if of == nil {
		return nil, fmt.Errorf("%v is not the state of any feature", kind)
	}
	if s := scopeOf(ctx); !s.inside || s.app != a {
		if err := a.rlock(ctx); err != nil {
			return nil, err
		}
		defer a.mu.RUnlock()
		s.app, s.inside = a, true
		ctx = s.with(ctx)
	}
	if of.stuck != nil {
		return nil, of.stuck
	}
	out, err := f(ctx, of.state)
	if err != nil {
		return nil, err
	}
	return strictjson.MarshalOutput(out)
}

// rlock locks the states for reading, after everything that was committed before.
func (a *App) rlock(ctx context.Context) error {
	for {
		stamp, err := a.store.Stamp(ctx)
		if err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
		if err := a.lockToRead(ctx); err != nil {
			return err
		}
		if stamp == a.stamp && a.sound() {
			return nil
		}
		a.mu.RUnlock()
		if err := a.catchUp(ctx); err != nil {
			return err
		}
		if err := a.lockToRead(ctx); err != nil {
			return err
		}
		if a.sound() {
			return nil // they may be newer by now, never older
		}
		a.mu.RUnlock()
	}
}

// sound reports whether the states are those after a committed event. a.mu is locked.
func (a *App) sound() bool { return !a.stale && !a.behind }

// refresh rebuilds states that are not sound.
func (a *App) refresh(ctx context.Context) error {
	if err := a.lockToRead(ctx); err != nil {
		return err
	}
	sound := a.sound()
	a.mu.RUnlock()
	if sound {
		return nil
	}
	return a.catchUp(ctx)
}
