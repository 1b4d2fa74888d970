package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/panics"
)

// findRecord returns an event of a store.
func findRecord(ctx context.Context, s eventlog.Store, seq int64) (eventlog.Record, error) {
	for r, err := range s.Records(ctx, seq-1) {
		if err != nil {
			return eventlog.Record{}, fmt.Errorf("read the log: %w", err)
		}
		if r.Seq == seq {
			return r, nil
		}
		break
	}
	last, err := s.Last(ctx)
	if err != nil {
		return eventlog.Record{}, fmt.Errorf("read the log: %w", err)
	}
	if last == 0 {
		return eventlog.Record{}, fmt.Errorf("event %d does not exist; the log is empty", seq)
	}
	return eventlog.Record{}, fmt.Errorf("event %d does not exist; the last event is %d", seq, last)
}

// A decodedEvent is a record with its command.
type decodedEvent struct {
	eventlog.Record
	cmdType  *registeredType // nil if the event is ignored
	command  command         // nil if the data was not decoded
	err      error           // why the event cannot be applied
	affected *feature        // feature that err stops; nil if this build does not have it
	amended  bool
}

// decode finds the command of d.Record, and decodes its data unless the state already includes the
// event. It returns an error if the amendments cannot be read.
func (a *App) decode(from *AmendmentReader, d *decodedEvent) error {
	return a.decodeFor(from, d, func(t *registeredType) bool { return d.Seq > t.feature.from })
}

// decodeFor finds the command of d.Record, and decodes its data if it is needed. If this build
// cannot read the event, it reads the fallback of the event, if there is one.
func (a *App) decodeFor(from *AmendmentReader, d *decodedEvent, isNeeded func(*registeredType) bool) error {
	p, err := a.resolve(from, d)
	if err != nil {
		return err
	}
	if d.cmdType != nil && isNeeded(d.cmdType) {
		d.decodeData(p)
	}
	if d.err == nil {
		return nil
	}
	p, ok, err := from.fallback(d.Seq)
	if err != nil || !ok {
		return err
	}
	other := decodedEvent{Record: d.Record, amended: d.amended}
	if other.cmdType, other.err = a.findCommand(eventOf(d.Record), &p); other.cmdType != nil && isNeeded(other.cmdType) {
		other.decodeData(p)
	}
	if other.err == nil {
		*d = other
	}
	return nil
}

// decodeData sets the command, or the error.
func (d *decodedEvent) decodeData(p eventlog.Payload) {
	defer func() {
		if caught := recover(); caught != nil { // in UnmarshalJSON or Upgrade
			d.command, d.err, d.affected = nil, panics.Error(caught), d.cmdType.feature
		}
	}()
	var err error
	if d.command, err = d.cmdType.decodePayload(p); err != nil {
		d.err, d.affected = mappedError(d.Record, p, err), d.cmdType.feature
	}
}

// resolve finds the command type of d.Record, nil if the event is ignored. It returns the payload
// to decode: that of the record, of its amendment, or of Map.
func (a *App) resolve(from *AmendmentReader, d *decodedEvent) (eventlog.Payload, error) {
	p := d.Payload()
	if isOwn(d.Type) {
		return p, nil
	}
	amendment, err := from.Of(d.Seq)
	if err != nil {
		return p, err
	}
	if a.edit != nil {
		switch am, ok, err := a.edit.amend(d.Record, amendment); {
		case err != nil:
			return p, err
		case ok:
			amendment = &am
		}
	}
	if amendment != nil {
		if d.amended, p = true, amendment.payload(); amendment.Skip {
			return p, nil
		}
	}
	if d.cmdType, d.err = a.findCommand(eventOf(d.Record), &p); d.err != nil {
		d.affected = a.affectedFeature(p.Type, d.err)
		if d.affected == nil && !d.amended {
			// Map returned the type of another feature.
			d.affected = a.affectedFeature(d.Type, d.err)
		}
		d.err = mappedError(d.Record, p, d.err)
	}
	return p, nil
}

// affectedFeature returns the feature of an event without a command: the feature of its type, or
// the one whose map function failed.
func (a *App) affectedFeature(eventType string, err error) *feature {
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

// A storeReader is an [eventlog.View] that follows the changes of a store.
type storeReader struct {
	ctx   context.Context
	store eventlog.Store
}

func (r storeReader) Records(after int64) iter.Seq2[eventlog.Record, error] {
	return r.store.Records(r.ctx, after)
}

func (r storeReader) Get(name string) ([]byte, error) { return r.store.Get(r.ctx, name) }

func (r storeReader) Names(prefix string) ([]string, error) {
	return r.store.Names(r.ctx, prefix)
}

func (r storeReader) Documents(prefix, after string) iter.Seq2[eventlog.Document, error] {
	return r.store.Documents(r.ctx, prefix, after)
}

// mappedError adds the mapping to the error of an event that was mapped or amended.
func mappedError(r eventlog.Record, p eventlog.Payload, err error) error {
	unreadable, ok := errors.AsType[*unreadableError](err)
	if !ok || p.Type == r.Type && p.Version == r.Version && bytes.Equal(p.Data, r.Data) {
		return err
	}
	return &unreadableError{
		text:   fmt.Sprintf("was mapped to %s, version %d, and %s", p.Type, p.Version, unreadable.text),
		remedy: "fix the map function, or the amendment of the event",
		err:    unreadable.err,
	}
}

// findCommand finds the command that can read the payload of an event. While no command can, it
// replaces the payload with the result of a map function. It returns nil if the event is ignored.
func (a *App) findCommand(e Event, p *eventlog.Payload) (*registeredType, error) {
	const maxMaps = 100 // more means a cycle
	original := *p
	for range maxMaps {
		t := a.types[p.Type]
		switch {
		case t != nil && t.canRead(p.Version):
			return t, nil
		case t != nil && t.version < p.Version:
			return nil, &unreadableError{
				text:   fmt.Sprintf("is newer than this build, which knows %s up to version %d", p.Type, t.version),
				remedy: fmt.Sprintf("run the newer build; to go on with this one, let the newer build run  %s log downgrade %s --to %d", a.o.Program, p.Type, t.version),
			}
		}
		before := *p
		if err := a.mapPayload(e, p); errors.Is(err, ErrDrop) {
			return nil, nil
		} else if err != nil {
			return nil, &unreadableError{text: "is refused by its map function", err: err}
		}
		switch {
		case p.Type != before.Type || p.Version != before.Version:
		case t != nil:
			return nil, &unreadableError{
				text:   fmt.Sprintf("cannot be read: %s is at version %d, and no type reads version %d", p.Type, t.version, p.Version),
				remedy: fmt.Sprintf("read it in code:  a type with the fields of version %d and func Upgrade, or func Map in the package of the feature", p.Version),
			}
		case slices.Contains(a.o.Skip, p.Type):
			return nil, nil
		default:
			return nil, &unreadableError{
				text: fmt.Sprintf("has no command: %s was removed or renamed, or is newer than this build", p.Type),
				remedy: fmt.Sprintf(`keep the type:  restore it with its Apply, and put //petrock:retired into its doc comment
map the type:   write a function with //petrock:map %s, which returns the command that replaces it
skip the type:  petrock sync --skip %[1]s`, p.Type),
			}
		}
	}
	*p = original
	return nil, &unreadableError{text: "is mapped in a cycle", remedy: "fix the map functions: one must return an event that a command can read"}
}

// mapPayload replaces the payload of an event with the result of its [Mapping], or of the first Map
// that changes its type or version. The Map of its own feature is called first.
func (a *App) mapPayload(e Event, p *eventlog.Payload) error {
	old := eventlog.Record{Seq: e.Seq, ID: e.ID, Time: e.Time, Actor: e.Actor, Type: p.Type, Version: p.Version, Data: p.Data}
	if m := a.maps[p.Type]; m != nil {
		mapped, err := m.call(old)
		if err == nil {
			*p = mapped
		}
		return err
	}
	own, _, _ := strings.Cut(p.Type, "/")
	for _, isOwn := range []bool{true, false} {
		for _, f := range a.features {
			if f.Map == nil || (f.Name == own) != isOwn {
				continue
			}
			mapped, err := f.callMap(f.Map, old)
			if err != nil {
				return err
			}
			if mapped.Type != p.Type || mapped.Version != p.Version {
				*p = mapped
				return nil
			}
		}
	}
	return nil
}

// Command decodes the command of a record, upgraded to the current version, without applying it. It
// returns nil if the event is dropped or skipped. Use it in tests of versions: does this build
// still read an event?
func (a *App) Command(r eventlog.Record) (any, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	d := decodedEvent{Record: r}
	reader := newAmendmentReader(storeReader{context.Background(), a.store}, a.amendments, true)
	if err := a.decodeFor(reader, &d, func(*registeredType) bool { return true }); err != nil {
		return nil, err
	}
	if d.err != nil || d.cmdType == nil {
		return nil, d.err
	}
	return d.command.value(), nil
}

// storable returns a time in the precision of the log, in UTC.
func storable(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond).Round(0) }
