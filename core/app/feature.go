package app

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/panics"
	"github.com/petrock/petrock/core/strictjson"
)

// A Feature is a state with the commands that change it, the queries that read it, and workers.
// Derived code builds one from a package.
type Feature struct {
	Name     string // such as posts
	State    State
	Commands []CommandType
	Queries  []QueryType
	Workers  []Worker
	Uses     []Feature // features that its code may use; a test of this feature needs them too

	// Maps read events of removed commands, of any feature, as commands of this feature.
	Maps []Mapping

	// Map replaces events that no command and none of Maps can read: those of a removed command, or
	// of a version without an [Older]. It returns the payload to read instead, which may be of an
	// older version. For an event that it does not know, it returns [eventlog.Record.Payload]. To
	// ignore an event, it returns [ErrDrop]. Map gets events of its own feature, and events that no
	// other Map replaces. It may be nil.
	Map func(eventlog.Record) (eventlog.Payload, error)
}

// ErrDrop is returned by [Feature].Map and by the function of a [Mapping] to ignore an event.
var ErrDrop = errors.New("the event is dropped")

// A Commander is a command: a struct whose fields are its input, as JSON.
type Commander[S, Out any] interface {
	// Check returns an error if the command cannot be executed now. It must not change the state.
	Check(ctx context.Context, s *S) error

	Applier[S, Out]
}

// An Applier is a command without Check, which can be replayed, but not executed. See
// [RetiredTypeOf].
type Applier[S, Out any] interface {
	// Apply changes the state and returns the output of the command. It must depend only on the
	// state, the command and the event, so that replay has the same result. It cannot fail: Check
	// must refuse commands that cannot be applied.
	Apply(s *S, e Event) Out
}

// An Answerer is a query: a struct whose fields are its input. Answer must not change the state. It
// may return a part of the state, which is encoded before the state changes.
type Answerer[S, Out any] interface {
	Answer(ctx context.Context, s *S) (Out, error)
}

// A Keyed command has its own idempotency key, which may be empty. See [WithKey].
type Keyed interface {
	IdempotencyKey() string
}

// A State is the type of a feature's state.
type State struct {
	kind   reflect.Type // without the pointer
	create func() any
}

// StateOf returns the state of a feature, with its constructor.
func StateOf[S any](create func() *S) State {
	return State{reflect.TypeFor[S](), func() any { return create() }}
}

// A CommandType describes the Go type of a command to its feature. See [CommandTypeOf].
type CommandType struct {
	name    string
	version int
	writes  int // version of its events; version, or an older one
	kind    reflect.Type
	state   reflect.Type
	older   []Older
	retired bool
	decode  func(data []byte) (command, error)
	wrap    func(value any) command
}

// An Older is an older version of a command, for events in the log that have it.
type Older struct {
	version int
	kind    reflect.Type // type of the data
	next    reflect.Type // result of Upgrade
	decode  func(data []byte) (any, error)
	upgrade func(old any) any

	downgrade func(newer any) any // from next to kind; nil if there is none
}

// An upgrade converts events of an older version to the current one.
type upgrade struct {
	Older
	later []Older // versions in between, in order
}

// CommandTypeOf returns the type of the command C, whose events have the type FEATURE/name in the
// log. Events are decoded strictly: an unknown, missing or mistyped field stops the server at
// startup. If C can no longer read its older events, raise the version and add an [OlderOf]. An
// optional new field (a pointer, omitempty or omitzero) needs no new version.
func CommandTypeOf[C Commander[S, Out], S, Out any](name string, version int, older ...Older) CommandType {
	return newCommand[C](name, version, older, false)
}

// RetiredTypeOf is [CommandTypeOf] for a command that is no longer executed. Its events are still
// replayed, and workers still get them. C needs no Check, which is not called.
func RetiredTypeOf[C Applier[S, Out], S, Out any](name string, version int, older ...Older) CommandType {
	return newCommand[C](name, version, older, true)
}

func newCommand[C Applier[S, Out], S, Out any](name string, version int, older []Older, retired bool) CommandType {
	decoder := &strictjson.Decoder{Exact: true}
	return CommandType{name, version, version, reflect.TypeFor[C](), reflect.TypeFor[S](), older, retired,
		func(data []byte) (command, error) {
			t := &typedCommand[C, S, Out]{}
			err := decoder.Decode(data, &t.c)
			return t, err
		},
		func(value any) command { return &typedCommand[C, S, Out]{value.(C)} },
	}
}

// A QueryType describes the Go type of a query to its feature. See [QueryTypeOf].
type QueryType struct {
	name  string
	state reflect.Type
}

// QueryTypeOf returns the type of the query Q.
func QueryTypeOf[Q Answerer[S, Out], S, Out any](name string) QueryType {
	return QueryType{name, reflect.TypeFor[S]()}
}

// A Mapping reads the events of a removed command as another command. See [MapOf].
type Mapping struct {
	eventType string
	kind      reflect.Type // of the result
	read      func(eventlog.Record) (any, error)
}

// An Event is the position, id, time and actor of a command in the log. Replay passes the same
// Event to Apply, so Apply must take times, ids of new items and the caller from it. Order events
// by Seq: times decrease when the clock is set back. See [eventlog.Record] for the whole event.
type Event struct {
	Seq   int64     `json:"seq"`             // 1, 2, 3, … without gaps
	ID    string    `json:"id"`              // unique in the log
	Time  time.Time `json:"time"`            // of the execution, in UTC, to the microsecond
	Actor string    `json:"actor,omitempty"` // the caller, see [Actor]; empty if unknown
}

// eventOf returns what Apply and workers get of a record.
func eventOf(r eventlog.Record) Event { return Event{r.Seq, r.ID, r.Time, r.Actor} }

// MapOf reads events of a type that no feature has any longer, such as scratch/poke, as the command
// C of the feature, or as an older version of it. read must be deterministic, like Apply. It
// returns [ErrDrop] to ignore an event. Its result is encoded, and then decoded as strictly as an
// event of C.
func MapOf[C any](eventType string, read func(old eventlog.Record) (C, error)) Mapping {
	return Mapping{eventType, reflect.TypeFor[C](), func(old eventlog.Record) (any, error) { return read(old) }}
}

// A feature is a Feature with its state.
type feature struct {
	Feature
	state    any
	from     int64 // last event in the snapshot that the state was loaded from
	snapshot int64 // last event in the stored snapshot

	tried    int64         // last event of the last try to take one
	locked   time.Duration // how long the last snapshot locked the state; 0 if there was none
	unusable string        // attempt of a snapshot that could not be loaded

	// stuck is set in a running process at the first event that cannot be applied. Commands return
	// this error. So do queries if Apply panicked; otherwise the state stays as it was before that
	// event.
	stuck    *StuckError
	wasStuck bool // before the states were rebuilt
}

// A registeredType is a command type of a feature of the app.
type registeredType struct {
	CommandType
	eventType string // such as posts/create
	feature   *feature
	upgrades  map[int]upgrade // by the older version
}

// A command is a [Commander] or [Applier] of any feature, without its type parameters.
type command interface {
	check(ctx context.Context, state any) error
	apply(state any, e Event) any
	value() any
}

type typedCommand[C Applier[S, Out], S, Out any] struct{ c C }

// check is not called for retired commands, which may have no Check.
func (t *typedCommand[C, S, Out]) check(ctx context.Context, state any) error {
	return any(&t.c).(Commander[S, Out]).Check(ctx, state.(*S))
}

func (t *typedCommand[C, S, Out]) apply(state any, e Event) any { return t.c.Apply(state.(*S), e) }

func (t *typedCommand[C, S, Out]) value() any { return t.c }

// A typeMap is a registered [Mapping].
type typeMap struct {
	Mapping
	cmdType *registeredType // of the result
	version int             // of the result
}

// call returns the payload of the command that replaces an event.
func (m *typeMap) call(old eventlog.Record) (eventlog.Payload, error) {
	return m.cmdType.feature.callMap(func(old eventlog.Record) (eventlog.Payload, error) {
		value, err := m.read(old)
		if err != nil {
			return eventlog.Payload{}, err
		}
		data, err := strictjson.Marshal(value)
		return eventlog.Payload{Type: m.cmdType.eventType, Version: m.version, Data: data}, err
	}, old)
}

// callMap calls a map function of the feature, and returns its errors and panics as a [*mapError].
func (f *feature) callMap(read func(eventlog.Record) (eventlog.Payload, error), old eventlog.Record) (mapped eventlog.Payload, err error) {
	defer func() {
		if err != nil {
			err = &mapError{f, err}
		}
	}()
	defer panics.Catch(&err)
	return read(old)
}

// A mapError is the error of a map function of a feature.
type mapError struct {
	feature *feature
	error
}

func (e *mapError) Unwrap() error { return e.error }
