package app

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/panics"
	"github.com/petrock/petrock/core/strictjson"
)

// An Upgrader is the type of an older version of a command. Upgrade returns the same command in the
// next version. It must depend only on its receiver: no clock, no randomness, no I/O.
type Upgrader[New any] interface {
	Upgrade() New
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

// OlderOf returns an older version of a command, whose events have the fields of Old. Upgrade
// returns the type of the command, or of a later version, which is upgraded in turn:
//
//	app.CommandTypeOf[Create]("create", 3, app.OlderOf[CreateV1](1), app.OlderOf[CreateV2](2))
//
// An optional function does the opposite of Upgrade: it returns the same command in the older
// version, as well as the old fields can hold it. It must depend only on its argument. It is the
// method Downgrade of New:
//
//	func (c Create) Downgrade() CreateV1 { return CreateV1{Name: c.Title} }
//
//	app.CommandTypeOf[Create]("create", 2, app.OlderOf[CreateV1](1, Create.Downgrade))
func OlderOf[Old Upgrader[New], New any](version int, downgrade ...func(New) Old) Older {
	decoder := &strictjson.Decoder{Exact: true}
	o := Older{
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
	if len(downgrade) > 0 {
		o.downgrade = func(newer any) any { return downgrade[0](newer.(New)) }
	}
	return o
}

// Writes returns the command with an older version for new events, which its [OlderOf] reads, so
// that builds that do not know the current version can read them. Input in the type of that
// version, see [DoOlderRaw], is stored as it is and upgraded before Check and Apply, as in replay.
// A command of the current type is stored as its Downgrade.
func (c CommandType) Writes(version int) CommandType {
	c.writes = version
	return c
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

// UpgradeList converts each value of a list, in Upgrade or Downgrade. A nil list stays nil.
func UpgradeList[Old, New any](list []Old, convert func(Old) New) []New {
	if list == nil {
		return nil
	}
	converted := make([]New, len(list))
	for i, old := range list {
		converted[i] = convert(old)
	}
	return converted
}

// UpgradeMap converts each value of a map, in Upgrade or Downgrade. A nil map stays nil.
func UpgradeMap[K comparable, Old, New any](values map[K]Old, convert func(Old) New) map[K]New {
	if values == nil {
		return nil
	}
	converted := make(map[K]New, len(values))
	for key, old := range values {
		converted[key] = convert(old)
	}
	return converted
}

// UpgradeKeys converts the keys of a map to another type of strings. A nil map stays nil.
func UpgradeKeys[New, Old ~string, Value any](values map[Old]Value) map[New]Value {
	if values == nil {
		return nil
	}
	converted := make(map[New]Value, len(values))
	for key, value := range values {
		converted[New(key)] = value
	}
	return converted
}

// UpgradePointer converts the value of a pointer, in Upgrade or Downgrade. A nil pointer stays nil.
func UpgradePointer[Old, New any](old *Old, convert func(Old) New) *New {
	if old == nil {
		return nil
	}
	return new(convert(*old))
}

// UpgradeOr converts the value of a field that was optional and is required now. A nil pointer
// becomes fallback.
func UpgradeOr[Old, New any](old *Old, fallback New, convert func(Old) New) New {
	if old == nil {
		return fallback
	}
	return convert(*old)
}

// An upgrade converts events of an older version to the current one.
type upgrade struct {
	Older
	later []Older // versions in between, in order
}

// upgrades returns the upgrades by version. It is an error if one does not lead to the command's
// type.
func (c CommandType) upgrades() (map[int]upgrade, error) {
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
				return nil, fmt.Errorf("command %s: version %d does not lead to %v: Upgrade of %v returns %v, which is not the type of a later version", c.name, version, c.kind, at.kind, at.next)
			}
			u.later = append(u.later, next)
			at = next
		}
		byVersion[version] = u
	}
	return byVersion, nil
}

// decodePayload decodes an event of the command, of any version that it can read.
func (t *registeredType) decodePayload(p eventlog.Payload) (command, error) {
	if p.Version == t.version {
		c, err := t.decode(p.Data)
		if err != nil {
			return nil, t.mismatch(t.kind, err)
		}
		return c, nil
	}
	u := t.upgrades[p.Version]
	value, err := u.decode(p.Data)
	if err != nil {
		return nil, t.mismatch(u.kind, err)
	}
	value = u.upgrade(value)
	for _, o := range u.later {
		value = o.upgrade(value)
	}
	return t.wrap(value), nil
}

// canRead reports whether events of a version can be read.
func (t *registeredType) canRead(version int) bool {
	if version == t.version {
		return true
	}
	_, older := t.upgrades[version]
	return older
}

// downgradeWritten returns the data of the version that the command writes, for data of the current
// version. It is an error if the older version cannot hold a field that is set.
func (t *registeredType) downgradeWritten(data []byte) (older []byte, err error) {
	defer panics.Catch(&err) // in UnmarshalJSON, Downgrade or Upgrade
	current, err := t.decode(data)
	if err != nil {
		return nil, err
	}
	lower, err := t.downgradePayload(eventlog.Payload{Type: t.eventType, Version: t.version, Data: data}, t.writes)
	if err != nil {
		return nil, fmt.Errorf("this build writes version %d (//petrock:writes): %w", t.writes, err)
	}
	upgraded, err := t.decodeWritten(lower.Data)
	if err != nil {
		return nil, err
	}
	before, after := reflect.ValueOf(current.value()), reflect.ValueOf(upgraded.value())
	for i := range before.NumField() {
		f := t.kind.Field(i)
		if f.IsExported() && !before.Field(i).IsZero() && !reflect.DeepEqual(before.Field(i).Interface(), after.Field(i).Interface()) {
			return nil, fmt.Errorf("this build writes version %d (//petrock:writes), which cannot hold the field %s; leave it unset until a build without the directive is deployed", t.writes, f.Name)
		}
	}
	return lower.Data, nil
}

// decodeWritten decodes data of the version that the command writes.
func (t *registeredType) decodeWritten(data []byte) (c command, err error) {
	if t.writes == t.version {
		return t.decode(data)
	}
	defer panics.Catch(&err) // in UnmarshalJSON or Upgrade
	return t.decodePayload(eventlog.Payload{Type: t.eventType, Version: t.writes, Data: data})
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
