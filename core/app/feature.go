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

	// Map, if there is one, is asked about records that the code does not know: of a command that is gone, or of
	// an older version. It returns what stands for it now, the same if it does not know either, or [ErrDrop] if
	// nothing does. Records of the feature come to it first, and then those that nobody else knows.
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
	decode  func(data []byte) (command, error)
}

// CommandOf is the commands of type C, which the log calls FEATURE/name. The version goes up when what is recorded of
// them changes so that older records mean something else.
func CommandOf[C Commander[S, Out], S, Out any](name string, version int) Command {
	decoder := sync.OnceValue(strictjson.NewDecoder[C])
	return Command{name, version, reflect.TypeFor[C](), reflect.TypeFor[S](), func(data []byte) (command, error) {
		made := &typedCommand[C, S, Out]{}
		err := decoder().Decode(data, &made.c)
		return made, err
	}}
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
