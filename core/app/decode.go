package app

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

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
