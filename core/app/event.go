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

// An Event is what applying a command may know of its place in the log. It is the same whenever the
// command is applied: times and the ids of new things come from here, and from nowhere else.
type Event struct {
	Seq  int64     `json:"seq"`  // 1, 2, 3, … without a gap
	ID   string    `json:"id"`   // no other entry has it
	Time time.Time `json:"time"` // when the command was executed, in UTC, to the microsecond
}

// A Record is an entry as the log holds it.
type Record struct {
	Event
	Type    string          `json:"type"`    // such as posts/create
	Version int             `json:"version"` // of what its data looks like
	Data    json.RawMessage `json:"data"`    // the command

	Key    string          `json:"key,omitempty"`    // of idempotency; no other record has it
	Result json.RawMessage `json:"result,omitempty"` // what came of it, if it has a key
}

// A Recorded is an event that no command reads as it is: its command was renamed or removed, or its
// version has no type. See [Feature.Map].
type Recorded struct {
	Type    string
	Version int
	Data    json.RawMessage
}

// A decoded is a record as it is to be applied.
type decoded struct {
	Record
	of      *commandType // nil if there is nothing to apply
	command command      // nil too if the data was not read
	err     error        // why it cannot be applied

	concerned *feature // the feature that cannot go on because of err; nil if this build does not have it
}

// decode finds the command of an event. It reads the data unless the state has the event in it already.
func (a *App) decode(r Record) decoded {
	d, meant := a.meaning(r)
	if d.of != nil && r.Seq > d.of.feature.from {
		d.read(meant)
	}
	return d
}

// read reads the data of an event that has a command.
func (d *decoded) read(meant Recorded) {
	defer func() {
		if p := recover(); p != nil { // in UnmarshalJSON or Upgrade
			d.command, d.err, d.concerned = nil, panicked(p), d.of.feature
		}
	}()
	var err error
	if d.command, err = d.of.read(meant); err != nil {
		d.err, d.concerned = blameMap(d.Record, meant, err), d.of.feature
	}
}

// meaning finds the command of an event, nil if there is none to apply, and the data that it is to
// read.
func (a *App) meaning(r Record) (d decoded, meant Recorded) {
	d.Record = r
	meant = Recorded{r.Type, r.Version, r.Data}
	if strings.HasPrefix(r.Type, ownTypes+"/") {
		return d, meant
	}
	amendment, amended := a.amendments[r.Seq]
	if amendment.Skip {
		return d, meant
	}
	if amended {
		meant = Recorded{amendment.Type, amendment.Version, amendment.Data}
	}
	if d.of, d.err = a.known(&meant); d.err != nil {
		d.concerned = a.concerned(meant.Type, d.err)
		if d.concerned == nil && !amended {
			d.concerned = a.concerned(r.Type, d.err) // its Map leads nowhere
		}
		d.err = blameMap(r, meant, d.err)
	}
	return d, meant
}

// concerned is the feature of an event that has no command: that of its type, or else the one whose
// Map has failed.
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

// blameMap changes the error of an event that was mapped, and then could not be read.
func blameMap(r Record, meant Recorded, err error) error {
	unreadable, ok := errors.AsType[*unreadableError](err)
	if !ok || meant.Type == r.Type && meant.Version == r.Version && bytes.Equal(meant.Data, r.Data) {
		return err
	}
	return &unreadableError{
		text:   fmt.Sprintf("was mapped to %s, version %d, and %s", meant.Type, meant.Version, unreadable.text),
		remedy: "fix func Map, or the amendment of the event",
		err:    unreadable.err,
	}
}

// known finds the command of a record, and changes that to what stands for it now. It is nil if nothing does.
func (a *App) known(r *Recorded) (*commandType, error) {
	const most = 100 // a record that is mapped so often is mapped in a circle
	original := *r
	for range most {
		of := a.types[r.Type]
		switch {
		case of != nil && of.knows(r.Version):
			return of, nil
		case of != nil && of.version < r.Version:
			return nil, &unreadableError{text: fmt.Sprintf("is newer than this build, which knows %s up to version %d", r.Type, of.version), remedy: "run the newer build"}
		}
		before := *r
		if err := a.mapped(r); errors.Is(err, ErrDrop) {
			return nil, nil
		} else if err != nil {
			return nil, &unreadableError{text: "is refused by func Map", err: err}
		}
		switch {
		case r.Type != before.Type || r.Version != before.Version:
		case of != nil:
			return nil, &unreadableError{
				text:   fmt.Sprintf("has no type: %s is at version %d, and nothing reads version %d", r.Type, of.version, r.Version),
				remedy: fmt.Sprintf("read it in code:  a type with the fields of version %d and func Upgrade, or func Map in the package of the feature", r.Version),
			}
		default:
			return nil, &unreadableError{
				text:   fmt.Sprintf("has no command: %s was removed or renamed, or is newer than this build", r.Type),
				remedy: "read it in code:  func Map in the package of the feature returns the event that replaces it, or app.ErrDrop",
			}
		}
	}
	*r = original
	return nil, &unreadableError{text: "is mapped in a circle by func Map", remedy: "fix func Map: it has to return an event that a command reads"}
}

// mapped asks the features what stands for a record: the one that it is of first.
func (a *App) mapped(r *Recorded) error {
	own, _, _ := strings.Cut(r.Type, "/")
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
		now, err := f.mapped(*r)
		if err != nil {
			return &mapError{f, err}
		}
		if now.Type != r.Type || now.Version != r.Version {
			*r = now
			return nil
		}
	}
	return nil
}

// mapped calls Map.
func (f *feature) mapped(r Recorded) (now Recorded, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return f.Map(r)
}

// Command returns the command that an event stands for, in the version that this program writes; nil if the event is dropped. It does
// not apply it.
func (a *App) Command(r Record) (any, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	d, meant := a.meaning(r)
	if d.err == nil && d.of != nil {
		d.read(meant)
	}
	if d.err != nil || d.of == nil {
		return nil, d.err
	}
	return d.command.value(), nil
}

// An Upgrader is the type of an older version of a command. Upgrade returns the same command as the
// next version has it. It depends on its receiver alone: no clock, no randomness, no I/O.
type Upgrader[New any] interface {
	Upgrade() New
}

// An Older is an older version of a command that events in the log still have.
type Older struct {
	version int
	kind    reflect.Type // its data is read as this
	next    reflect.Type // and upgraded to this
	decode  func(data []byte) (any, error)
	upgrade func(old any) any
}

// OlderOf is the version of a command whose events have the fields of Old. Upgrade leads to the
// type of the command, or to that of a later version, which is upgraded in turn:
//
//	app.CommandOf[Create]("create", 3, app.OlderOf[CreateV1](1), app.OlderOf[CreateV2](2))
func OlderOf[Old Upgrader[New], New any](version int) Older {
	decoder := strictjson.NewExactDecoder[Old]()
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
func (t *commandType) read(r Recorded) (command, error) {
	if r.Version == t.version {
		made, err := t.decode(r.Data)
		if err != nil {
			return nil, t.misfit(t.kind, err)
		}
		return made, nil
	}
	u := t.upgrades[r.Version]
	value, err := u.decode(r.Data)
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
