package app

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/petrock/petrock/core/strictjson"
)

// Writes returns the command with an older version for new events, which its [OlderOf] reads, so that
// builds that do not know the current version can read them. Input in the type of that version, see
// [DoOlderRaw], is stored as it is and upgraded before Check and Apply, as in replay. A command of the
// current type is stored as its Downgrade.
func (c CommandType) Writes(version int) CommandType {
	c.writes = version
	return c
}

// DoOlderRaw is [DoRaw] for a command with [CommandType.Writes]. old has the type of the version that the
// command writes.
func DoOlderRaw(ctx context.Context, a *App, old any) (json.RawMessage, error) {
	return a.execute(ctx, old)
}

// Input returns the input of a command's tool for a command of its current type: the JSON of its Downgrade if
// the command writes an older version, and c itself otherwise.
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

// downgradeWritten returns the data of the version that the command writes, for data of the current
// version. It is an error if the older version cannot hold a field that is set.
func (t *registeredType) downgradeWritten(data []byte) (older []byte, err error) {
	defer func() {
		if caught := recover(); caught != nil { // in UnmarshalJSON, Downgrade or Upgrade
			err = panicError(caught)
		}
	}()
	current, err := t.decode(data)
	if err != nil {
		return nil, err
	}
	lower, err := t.downgradePayload(Payload{t.eventType, t.version, data}, t.writes)
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
	defer func() {
		if caught := recover(); caught != nil { // in UnmarshalJSON or Upgrade
			err = panicError(caught)
		}
	}()
	return t.decodePayload(Payload{t.eventType, t.writes, data})
}

// repeats reports whether an event of the same type is the same command, which another build may have
// stored in another version.
func (p *pending) repeats(before Record) bool {
	t := p.cmdType
	if before.Version == t.writes || !t.canRead(before.Version) {
		return string(before.Data) == string(p.data)
	}
	c, err := t.decodePayload(before.Payload())
	return err == nil && reflect.DeepEqual(c.value(), p.command.value())
}
