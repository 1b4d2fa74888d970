package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// An Event is the part of an event that Apply and workers get with the command: its place in the
// log, its id and its time. It is the same whenever the command is applied, so Apply takes times
// and the ids of new items from here only. If the clock is set back, an event can have an earlier
// time than the event before it: order events by Seq. See [Record] for the whole event.
type Event struct {
	Seq  int64     `json:"seq"`  // 1, 2, 3, … without a gap
	ID   string    `json:"id"`   // unique in the log
	Time time.Time `json:"time"` // when the command was executed, in UTC, to the microsecond
}

// A Record is a whole event, as the store holds it.
type Record struct {
	Event
	Type    string          `json:"type"`    // such as posts/create
	Version int             `json:"version"` // of the command, whose fields Data has
	Data    json.RawMessage `json:"data"`    // the command

	Key    string          `json:"key,omitempty"`    // idempotency key, unique in the log
	Result json.RawMessage `json:"result,omitempty"` // what Apply returned, if there is a key
}

// A Payload is the part of a [Record] that says which command to apply. [Feature.Map] replaces it
// if no command can read it.
type Payload struct {
	Type    string
	Version int
	Data    json.RawMessage
}

// A decoded is a record with the command that replay applies for it.
type decoded struct {
	Record
	of      *commandType // nil if there is nothing to apply
	command command      // nil too if the data was not read
	err     error        // why it cannot be applied

	concerned *feature // the feature that err stops; nil if this build does not have it
}

// decode finds the command of a record. It reads the data only if the event is not in the state
// yet.
func (a *App) decode(r Record) decoded {
	d, p := a.resolve(r)
	if d.of != nil && r.Seq > d.of.feature.from {
		d.read(p)
	}
	return d
}

// read reads the data of a record that has a command.
func (d *decoded) read(p Payload) {
	defer func() {
		if caught := recover(); caught != nil { // in UnmarshalJSON or Upgrade
			d.command, d.err, d.concerned = nil, panicked(caught), d.of.feature
		}
	}()
	var err error
	if d.command, err = d.of.read(p); err != nil {
		d.err, d.concerned = blameMap(d.Record, p, err), d.of.feature
	}
}

// resolve finds the command of a record, nil if there is none to apply, and the payload that the
// command reads: from the record, from its amendment, or from Map.
func (a *App) resolve(r Record) (d decoded, p Payload) {
	d.Record = r
	p = Payload{r.Type, r.Version, r.Data}
	if strings.HasPrefix(r.Type, ownTypes+"/") {
		return d, p
	}
	amendment, amended := a.amendments[r.Seq]
	if amendment.Skip {
		return d, p
	}
	if amended {
		p = Payload{amendment.Type, amendment.Version, amendment.Data}
	}
	if d.of, d.err = a.commandOf(&p); d.err != nil {
		d.concerned = a.concerned(p.Type, d.err)
		if d.concerned == nil && !amended {
			d.concerned = a.concerned(r.Type, d.err) // its Map returned the type of another feature
		}
		d.err = blameMap(r, p, d.err)
	}
	return d, p
}

// concerned returns the feature of an event that has no command: the feature of its type, or else
// the one whose Map failed.
func (a *App) concerned(eventType string, err error) *feature {
	name, _, _ := strings.Cut(eventType, "/")
	for _, f := range a.features {
		if f.Name == name {
			return f
		}
	}
	if failed, ok := errors.AsType[*mapError](err); ok {
		return failed.feature
	}
	return nil
}

// A mapError is the error of a feature's Map.
type mapError struct {
	feature *feature
	error
}

func (e *mapError) Unwrap() error { return e.error }

// blameMap changes the error of an event that was mapped or amended, and then could not be read.
func blameMap(r Record, p Payload, err error) error {
	unreadable, ok := errors.AsType[*unreadableError](err)
	if !ok || p.Type == r.Type && p.Version == r.Version && bytes.Equal(p.Data, r.Data) {
		return err
	}
	return &unreadableError{
		text:   fmt.Sprintf("was mapped to %s, version %d, and %s", p.Type, p.Version, unreadable.text),
		remedy: "fix func Map, or the amendment of the event",
		err:    unreadable.err,
	}
}

// commandOf finds the command that reads a payload, and replaces the payload by what Map returns
// until there is one. It returns nil if Map drops the event.
func (a *App) commandOf(p *Payload) (*commandType, error) {
	const maxMaps = 100 // more must be a cycle
	original := *p
	for range maxMaps {
		of := a.types[p.Type]
		switch {
		case of != nil && of.knows(p.Version):
			return of, nil
		case of != nil && of.version < p.Version:
			return nil, &unreadableError{
				text:   fmt.Sprintf("is newer than this build, which knows %s up to version %d", p.Type, of.version),
				remedy: "run the newer build",
			}
		}
		before := *p
		if err := a.mapPayload(p); errors.Is(err, ErrDrop) {
			return nil, nil
		} else if err != nil {
			return nil, &unreadableError{text: "is refused by func Map", err: err}
		}
		switch {
		case p.Type != before.Type || p.Version != before.Version:
		case of != nil:
			return nil, &unreadableError{
				text:   fmt.Sprintf("has no type: %s is at version %d, and nothing reads version %d", p.Type, of.version, p.Version),
				remedy: fmt.Sprintf("read it in code:  a type with the fields of version %d and func Upgrade, or func Map in the package of the feature", p.Version),
			}
		default:
			return nil, &unreadableError{
				text:   fmt.Sprintf("has no command: %s was removed or renamed, or is newer than this build", p.Type),
				remedy: "read it in code:  func Map in the package of the feature returns the event that replaces it, or app.ErrDrop",
			}
		}
	}
	*p = original
	return nil, &unreadableError{text: "is mapped in a circle by func Map", remedy: "fix func Map: it has to return an event that a command reads"}
}

// mapPayload replaces a payload by what the first feature returns whose Map knows it. The feature
// of its type is asked first.
func (a *App) mapPayload(p *Payload) error {
	own, _, _ := strings.Cut(p.Type, "/")
	order := slices.Clone(a.features)
	slices.SortStableFunc(order, func(f, g *feature) int {
		switch {
		case f.Name == own:
			return -1
		case g.Name == own:
			return 1
		}
		return 0
	})
	for _, f := range order {
		if f.Map == nil {
			continue
		}
		mapped, err := f.callMap(*p)
		if err != nil {
			return &mapError{f, err}
		}
		if mapped.Type != p.Type || mapped.Version != p.Version {
			*p = mapped
			return nil
		}
	}
	return nil
}

// callMap calls Map, and returns a panic of it as an error.
func (f *feature) callMap(p Payload) (mapped Payload, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = panicked(caught)
		}
	}()
	return f.Map(p)
}

// Command returns the command that a record decodes to, in the version that this program writes. It
// returns nil if the event is dropped or skipped. It does not apply the command.
func (a *App) Command(r Record) (any, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	d, p := a.resolve(r)
	if d.err == nil && d.of != nil {
		d.read(p)
	}
	if d.err != nil || d.of == nil {
		return nil, d.err
	}
	return d.command.value(), nil
}

// An Upgrader is the type of an older version of a command. Upgrade returns the same command in the
// next version. It must depend only on its receiver: no clock, no randomness, no I/O.
type Upgrader[New any] interface {
	Upgrade() New
}

// An Older is an older version of a command, for events in the log that have it.
type Older struct {
	version int
	kind    reflect.Type // its data is read as this
	next    reflect.Type // and upgraded to this
	decode  func(data []byte) (any, error)
	upgrade func(old any) any
}

// OlderOf returns the version of a command whose events have the fields of Old. Upgrade returns the
// type of the command, or the type of a later version, which is upgraded in turn:
//
//	app.CommandOf[Create]("create", 3, app.OlderOf[CreateV1](1), app.OlderOf[CreateV2](2))
func OlderOf[Old Upgrader[New], New any](version int) Older {
	decoder := strictjson.NewExactDecoder(reflect.TypeFor[Old]())
	return Older{
		version: version,
		kind:    reflect.TypeFor[Old](),
		next:    reflect.TypeFor[New](),
		decode: func(data []byte) (any, error) {
			var old Old
			err := decoder.Decode(data, &old)
			return old, err
		},
		upgrade: func(old any) any { return old.(Old).Upgrade() },
	}
}

// An upgrade reads the events of one older version as the current one.
type upgrade struct {
	Older
	later []Older // the versions that it passes through, in order
}

// upgrades checks the older versions of a command: each leads to the command's own type.
func (c Command) upgrades() (map[int]upgrade, error) {
	byType, byVersion := map[reflect.Type]Older{}, map[int]upgrade{}
	for _, o := range c.older {
		switch _, twice := byVersion[o.version]; {
		case twice:
			return nil, fmt.Errorf("command %s has version %d twice; remove one OlderOf", c.name, o.version)
		case o.version < 1 || o.version >= c.version:
			return nil, fmt.Errorf("command %s has version %d, and %v is for version %d; older versions are from 1 to %d", c.name, c.version, o.kind, o.version, c.version-1)
		}
		byVersion[o.version] = upgrade{Older: o}
		if known, ok := byType[o.kind]; !ok || known.version < o.version {
			byType[o.kind] = o
		}
	}
	for version, u := range byVersion {
		for at := u.Older; at.next != c.kind; {
			next, ok := byType[at.next]
			if !ok || next.version <= at.version {
				return nil, fmt.Errorf("command %s: version %d does not lead to %v: Upgrade of %v returns %v, which is the type of no later version", c.name, version, c.kind, at.kind, at.next)
			}
			u.later = append(u.later, next)
			at = next
		}
		byVersion[version] = u
	}
	return byVersion, nil
}

// read decodes an event of the command, of any version that it knows.
func (t *commandType) read(p Payload) (command, error) {
	if p.Version == t.version {
		made, err := t.decode(p.Data)
		if err != nil {
			return nil, t.misfit(t.kind, err)
		}
		return made, nil
	}
	u := t.upgrades[p.Version]
	value, err := u.decode(p.Data)
	if err != nil {
		return nil, t.misfit(u.kind, err)
	}
	value = u.upgrade(value)
	for _, o := range u.later {
		value = o.upgrade(value)
	}
	return t.wrap(value), nil
}

// knows reports whether events of a version can be read.
func (t *commandType) knows(version int) bool {
	if version == t.version {
		return true
	}
	_, older := t.upgrades[version]
	return older
}

// UpgradeList converts each value of a list. A nil list stays nil.
func UpgradeList[Old, New any](list []Old, convert func(Old) New) []New {
	if list == nil {
		return nil
	}
	made := make([]New, len(list))
	for i, old := range list {
		made[i] = convert(old)
	}
	return made
}

// UpgradeMap converts each value of a map. A nil map stays nil.
func UpgradeMap[K comparable, Old, New any](values map[K]Old, convert func(Old) New) map[K]New {
	if values == nil {
		return nil
	}
	made := make(map[K]New, len(values))
	for key, old := range values {
		made[key] = convert(old)
	}
	return made
}

// UpgradePointer converts what a pointer points to. A nil pointer stays nil.
func UpgradePointer[Old, New any](old *Old, convert func(Old) New) *New {
	if old == nil {
		return nil
	}
	return new(convert(*old))
}

// UpgradeOr converts what a pointer points to. A nil pointer becomes fallback.
func UpgradeOr[Old, New any](old *Old, fallback New, convert func(Old) New) New {
	if old == nil {
		return fallback
	}
	return convert(*old)
}
