package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// again tries the entries once more that somebody has asked for.
func (r *runner) again(ctx context.Context) error {
	prefix := strings.TrimSuffix(retryName(r.name, 0), fmt.Sprintf("%019d", 0))
	names, err := r.app.store.Names(ctx, prefix)
	if err != nil {
		return err
	}
	for _, name := range names {
		seq, err := strconv.ParseInt(strings.TrimPrefix(name, prefix), 10, 64)
		if err != nil {
			return err
		}
		if err := r.retry(ctx, name, seq); err != nil {
			return err
		}
	}
	return nil
}

// retry tries an entry once more. What asks for it is taken away before, so that an entry which ends the process does
// so once.
func (r *runner) retry(ctx context.Context, asked string, seq int64) error {
	var before []byte
	aside := SetAside{Seq: seq, Time: storable(r.app.o.Now()), Error: ended}
	err := r.keepWith(ctx, func(tx Tx) (err error) {
		if before, err = tx.Get(asideName(r.name, seq)); err != nil {
			return err
		}
		var was SetAside
		_ = json.Unmarshal(before, &was) // its tries alone are wanted
		aside.Tries = was.Tries + 1
		return errors.Join(tx.Put(asked, nil), aside.put(tx, r.name))
	})
	if err != nil {
		return err
	}
	failed := r.tryOld(ctx, seq)
	if ctx.Err() != nil { // it was not given the time
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), renew)
		defer cancel()
		return errors.Join(ctx.Err(), r.keepWith(late, func(tx Tx) error {
			return errors.Join(tx.Put(asked, []byte("true")), tx.Put(asideName(r.name, seq), before))
		}))
	}
	return r.keepWith(ctx, func(tx Tx) error {
		if failed == nil {
			return tx.Put(asideName(r.name, seq), nil)
		}
		aside.Error = failed.Error()
		return aside.put(tx, r.name)
	})
}

// tryOld tries an entry that was set aside.
func (r *runner) tryOld(ctx context.Context, seq int64) error {
	for record, err := range r.app.store.Records(ctx, seq-1) {
		if err != nil {
			return err
		}
		c, do, err := r.concerned(ctx, record)
		if err != nil || do == nil {
			return err
		}
		return r.try(ctx, record, c, do)
	}
	return fmt.Errorf("the log has no entry %d", seq)
}
