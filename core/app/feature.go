package app

import (
	"context"
	"errors"
	"reflect"
	"sync"

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
	Map func(Recorded) (Recorded, error)
}

// ErrDrop is what [Feature.Map] returns for a record that means nothing any more.
var ErrDrop = errors.New("the record means nothing any more")

// A Commander is a command: a struct whose fields, as JSON, are what it is told.
type Commander[S, Out any] interface {
	// Check says why the command cannot be executed now. It changes nothing.
	Check(ctx context.Context, s *S) error

	// Apply changes the state and gives back what the caller is told. It depends on the state, the command and the
	// entry alone, so that it does the same whenever it is done again. It has to work on whatever Check lets pass.
	Apply(s *S, e Entry) Out
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
	decoder := sync.OnceValue(strictjson.NewExactDecoder[C])
	return Command{name, version, reflect.TypeFor[C](), reflect.TypeFor[S](), older,
		func(data []byte) (command, error) {
			made := &typedCommand[C, S, Out]{}
			err := decoder().Decode(data, &made.c)
			return made, err
		},
		func(value any) command { return &typedCommand[C, S, Out]{value.(C)} },
	}
}

// A command is one that was decoded.
type command interface {
	check(ctx context.Context, state any) error
	apply(state any, e Entry) any
	value() any
}

type typedCommand[C Commander[S, Out], S, Out any] struct{ c C }

func (t *typedCommand[C, S, Out]) check(ctx context.Context, state any) error {
	return t.c.Check(ctx, state.(*S))
}

func (t *typedCommand[C, S, Out]) apply(state any, e Entry) any { return t.c.Apply(state.(*S), e) }

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
