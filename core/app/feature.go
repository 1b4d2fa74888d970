package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/petrock/petrock/core/strictjson"
)

// A Feature is a state, the commands that change it, the queries that read it, and workers. Derived code
// makes one of a package.
type Feature struct {
	Name     string // such as posts
	State    State
	Commands []Command
	Queries  []Query
	Workers  []Worker

	// Map translates events that no command of the feature can read: those of a removed command, or
	// of a version without an [Older]. It returns the event that replaces it, which may be of an
	// older version, the same event if it does not know it, or [ErrDrop] to ignore it. It is asked
	// about the events of its own feature first, then about those that no other feature knows. It
	// may be nil.
	Map func(Payload) (Payload, error)
}

// ErrDrop is what [Feature.Map] returns for a record that means nothing any more.
var ErrDrop = errors.New("the record means nothing any more")

// A Commander is a command: a struct whose fields, as JSON, are what it is told.
type Commander[S, Out any] interface {
	// Check says why the command cannot be executed now. It changes nothing.
	Check(ctx context.Context, s *S) error

	// Apply changes the state and gives back what the caller is told. It depends on the state, the command and the
	// event alone, so that it does the same whenever it is done again. It has to work on whatever Check lets pass.
	Apply(s *S, e Event) Out
}

// An Answerer is a query: a struct whose fields are what is asked. What it gives back may be a part of the
// state, which it does not change: it is encoded before anybody else does.
type Answerer[S, Out any] interface {
	Answer(ctx context.Context, s *S) (Out, error)
}

// A Keyed command carries a key of its own, which may be empty. See [WithKey].
type Keyed interface {
	IdempotencyKey() string
}

// A State is the type of a feature's state.
type State struct {
	kind  reflect.Type // to which there is a pointer
	begin func() any
}

// StateOf is the state of a feature, and how it begins.
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

// CommandOf is the commands of type C, whose events have the type FEATURE/name in the log. The
// version goes up whenever the fields of C change so that it cannot read its older events any more:
// see [OlderOf]. Events are read exactly: an unknown, missing or mistyped field stops the start. A
// field that C gains may do without a new version if it is optional: a pointer, omitempty or
// omitzero.
func CommandOf[C Commander[S, Out], S, Out any](name string, version int, older ...Older) Command {
	decoder := strictjson.NewExactDecoder[C]()
	return Command{name, version, reflect.TypeFor[C](), reflect.TypeFor[S](), older,
		func(data []byte) (command, error) {
			made := &typedCommand[C, S, Out]{}
			err := decoder.Decode(data, &made.c)
			return made, err
		},
		func(value any) command { return &typedCommand[C, S, Out]{value.(C)} },
	}
}

// A command is one that was decoded.
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

// QueryOf is the queries of type Q.
func QueryOf[Q Answerer[S, Out], S, Out any](name string) Query {
	return Query{name, reflect.TypeFor[S]()}
}

// Read answers a query, as JSON. It sees all that was committed before it began, in any process.
func Read[S, Out any](ctx context.Context, a *App, q Answerer[S, Out]) (json.RawMessage, error) {
	return a.read(ctx, reflect.TypeFor[S](), func(ctx context.Context, state any) (any, error) { return q.Answer(ctx, state.(*S)) })
}

// Ask is [Read] for who has a context that leads to the app: workers, checks, other queries, and the calls of a server with features. The answer is a copy.
func Ask[S, Out any](ctx context.Context, q Answerer[S, Out]) (out Out, err error) {
	s := scopeOf(ctx)
	if s.app == nil {
		return out, fmt.Errorf("asking %T: the context leads to no app; use that of a worker, a check or a query, or of a call to a server with features, or app.With", q)
	}
	raw, err := Read(ctx, s.app, q)
	if err != nil {
		return out, err
	}
	return out, strictjson.Unmarshal(raw, &out)
}

// read calls f with the state of a type, and encodes what comes of it before anything changes that.
func (a *App) read(ctx context.Context, kind reflect.Type, f func(context.Context, any) (any, error)) (json.RawMessage, error) {
	of := a.states[kind]
	if of == nil {
		return nil, fmt.Errorf("%v is the state of no feature", kind)
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

// rlock locks the states for reading, when they are those after all that was committed before.
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

// sound reports whether the states are those after an event with which they were caught up. a.mu is locked.
func (a *App) sound() bool { return !a.stale && !a.behind }

// refresh makes states again that are not sound.
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
