package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
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
		aside := SetAside{Seq: seq, Time: storable(r.app.o.Now()), Tries: 1}
		failed := r.tryOld(ctx, seq)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = r.keepWith(ctx, func(tx Tx) error {
			if failed == nil {
				return errors.Join(tx.Put(name, nil), tx.Put(asideName(r.name, seq), nil))
			}
			before, err := tx.Get(asideName(r.name, seq))
			if err != nil {
				return err
			}
			var was SetAside
			_ = json.Unmarshal(before, &was) // its tries alone are wanted
			aside.Tries, aside.Error = was.Tries+1, failed.Error()
			document, err := strictjson.Marshal(aside)
			return errors.Join(err, tx.Put(name, nil), tx.Put(asideName(r.name, seq), document))
		})
		if err != nil {
			return err
		}
	}
	return nil
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
