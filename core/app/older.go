package app

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/petrock/petrock/core/strictjson"
)

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
	decoder := sync.OnceValue(strictjson.NewExactDecoder[Old])
	return Older{
		version: version,
		kind:    reflect.TypeFor[Old](),
		next:    reflect.TypeFor[New](),
		decode: func(data []byte) (any, error) {
			var old Old
			err := decoder().Decode(data, &old)
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
