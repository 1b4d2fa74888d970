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
	of      *commandType // nil if the record means nothing
	command command      // nil too if the state has it in it already
	err     error        // why it cannot be applied
}

// decode finds out what a record means.
func (a *App) decode(r Record) (d decoded) {
	d.Record = r
	defer func() {
		if p := recover(); p != nil {
			d.err = panicked(p)
		}
	}()
	of, meant, err := a.meaning(r)
	if d.err = err; err != nil || of == nil {
		return d
	}
	d.of = of
	if r.Seq > of.feature.from {
		if d.command, d.err = of.read(meant); d.err != nil {
			d.err = blameMap(r, meant, d.err)
		}
	}
	return d
}

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

// meaning finds out which command a record is of, nil if it means nothing, and what its data is now.
func (a *App) meaning(r Record) (*commandType, Recorded, error) {
	meant := Recorded{r.Type, r.Version, r.Data}
	if strings.HasPrefix(r.Type, ownTypes+"/") {
		return nil, meant, nil
	}
	if amendment, ok := a.amendments[r.Seq]; ok {
		if amendment.Skip {
			return nil, meant, nil
		}
		meant = Recorded{amendment.Type, amendment.Version, amendment.Data}
	}
	of, err := a.known(&meant)
	return of, meant, err
}

// known finds the command of a record, and changes that to what stands for it now. It is nil if nothing does.
func (a *App) known(r *Recorded) (*commandType, error) {
	const most = 100 // a record that is mapped so often is mapped in a circle
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
		now, err := f.Map(*r)
		if err != nil {
			return err
		}
		if now.Type != r.Type || now.Version != r.Version {
			*r = now
			return nil
		}
	}
	return nil
}
