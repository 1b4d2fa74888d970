package app

import (
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
		if d.command, err = of.decode(meant.Data); err != nil {
			d.err = fmt.Errorf("reading its data: %w", err)
		}
	}
	return d
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
		case of != nil && of.version == r.Version:
			return of, nil
		case of != nil && of.version < r.Version:
			return nil, fmt.Errorf("it is of a newer version of this program, which knows version %d of %s", of.version, r.Type)
		}
		before := *r
		if err := a.mapped(r); errors.Is(err, ErrDrop) {
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("func Map says: %w", err)
		}
		switch {
		case r.Type != before.Type || r.Version != before.Version:
		case of != nil:
			return nil, fmt.Errorf("its data is of version %d, and %s is at version %d; nothing says how to read it", r.Version, r.Type, of.version)
		default:
			return nil, fmt.Errorf("there is no command %s; it was renamed or removed, or is of a newer version of this program", r.Type)
		}
	}
	return nil, fmt.Errorf("func Map does not come to an end with it")
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
