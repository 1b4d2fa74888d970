package app

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/panics"
	"github.com/petrock/petrock/core/strictjson"
)

// An Upgrader is the type of an older version of a command. Upgrade returns the same command in the
// next version. It must depend only on its receiver: no clock, no randomness, no I/O.
type Upgrader[New any] interface {
	Upgrade() New
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

// mismatch returns the error for data that does not match the type of its command.
func (t *registeredType) mismatch(kind reflect.Type, err error) error {
	remedy := fmt.Sprintf("if %v changed: restore the fields that this version had", kind)
	if kind == t.kind {
		remedy = "if the command changed:  petrock generate version " + t.eventType
		if fields, ok := errors.AsType[*strictjson.TypeError](err); ok && fields.Path == "" && len(fields.Unknown) == 1 && len(fields.Missing) == 1 {
			remedy += " --rename " + fields.Unknown[0] + "=" + fields.Missing[0]
		}
	}
	return &unreadableError{"does not fit " + kind.String(), remedy, err}
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

// downgradePayload returns the command of an event as a lower version.
func (t *registeredType) downgradePayload(p eventlog.Payload, to int) (lower eventlog.Payload, err error) {
	defer panics.Catch(&err) // in Downgrade, MarshalJSON or UnmarshalJSON
	value, err := t.decodeVersion(p)
	if err != nil {
		return lower, err
	}
	target := t.upgrades[to]
	for kind := reflect.TypeOf(value); kind != target.kind; kind = reflect.TypeOf(value) {
		step := slices.IndexFunc(t.older, func(o Older) bool { return o.next == kind && o.downgrade != nil && o.version >= to })
		if step < 0 {
			return lower, fmt.Errorf("%v has no method Downgrade that leads to version %d; run petrock generate version --downgrade", kind, to)
		}
		value = t.older[step].downgrade(value)
	}
	data, err := strictjson.Marshal(value)
	if err != nil {
		return lower, err
	}
	if _, err := target.decode(data); err != nil {
		return lower, fmt.Errorf("the result does not fit %v: %w", target.kind, err)
	}
	return eventlog.Payload{Type: p.Type, Version: to, Data: data}, nil
}

// decodeVersion decodes an event of the command as the type of its version.
func (t *registeredType) decodeVersion(p eventlog.Payload) (any, error) {
	if p.Version == t.version {
		c, err := t.decodePayload(p)
		if err != nil {
			return nil, err
		}
		return c.value(), nil
	}
	u, ok := t.upgrades[p.Version]
	if !ok {
		return nil, fmt.Errorf("no type reads version %d of %s", p.Version, t.eventType)
	}
	value, err := u.decode(p.Data)
	if err != nil {
		return nil, t.mismatch(u.kind, err)
	}
	return value, nil
}

// decodeWritten decodes data of the version that the command writes.
func (t *registeredType) decodeWritten(data []byte) (c command, err error) {
	if t.writes == t.version {
		return t.decode(data)
	}
	defer panics.Catch(&err) // in UnmarshalJSON or Upgrade
	return t.decodePayload(eventlog.Payload{Type: t.eventType, Version: t.writes, Data: data})
}
