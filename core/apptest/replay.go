package apptest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/petrock/petrock/core/app"
)

// checkReplay fails the test if the log leads to another state than the one it has left.
func (c *Client) checkReplay(ctx context.Context) {
	c.t.Helper()
	live, err := c.App.Dump(ctx)
	if err != nil {
		c.t.Errorf("looking at the state: %v", err)
		return
	}
	for _, way := range []struct {
		name   string
		replay func(context.Context) (map[string]json.RawMessage, error)
	}{
		{"replayed", c.replay},
		{"replayed again", c.replay},
		{"replayed from a snapshot after half of it", c.replayHalf},
	} {
		again, err := way.replay(ctx)
		if err != nil {
			c.t.Errorf("the log cannot be %s: %v", way.name, err)
			continue
		}
		for _, feature := range slices.Sorted(maps.Keys(live)) {
			if a, b := string(live[feature]), string(again[feature]); a != b {
				c.t.Errorf("the state of %s is another one when the log is %s: %s\nApply may go by the state, the command and its entry alone; Check and Answer may change nothing; all of the state has to be in exported fields.", feature, way.name, difference(a, b))
				return
			}
		}
	}
}

// replay is the state that all of the log leads to.
func (c *Client) replay(ctx context.Context) (map[string]json.RawMessage, error) {
	whole := c.options
	whole.NoSnapshot = true
	a, err := app.Open(ctx, c.Store, whole, c.features...)
	if err != nil {
		return nil, err
	}
	return a.Dump(ctx)
}

// replayHalf is the state that the second half of the log leads to, after a snapshot of what the first half did. It all happens in
// a copy of the store.
func (c *Client) replayHalf(ctx context.Context) (map[string]json.RawMessage, error) {
	var records []app.Record
	for record, err := range c.Store.Records(ctx, 0) {
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	store := app.NewMemory()
	half := len(records) / 2
	if err := c.copyDocuments(ctx, store); err != nil {
		return nil, err
	}
	if err := store.Write(ctx, func(tx app.Tx) error { return tx.Append(records[:half]...) }); err != nil {
		return nil, err
	}
	a, err := app.Open(ctx, store, c.options, c.features...)
	if err != nil {
		return nil, err
	}
	if err := a.Snapshot(ctx); err != nil {
		return nil, err
	}
	if err := store.Write(ctx, func(tx app.Tx) error { return tx.Append(records[half:]...) }); err != nil {
		return nil, err
	}
	if a, err = app.Open(ctx, store, c.options, c.features...); err != nil {
		return nil, err
	}
	return a.Dump(ctx)
}

// copyDocuments copies what the store keeps beside the log.
func (c *Client) copyDocuments(ctx context.Context, to app.Store) error {
	names, err := c.Store.Names(ctx, "")
	if err != nil {
		return err
	}
	return to.Write(ctx, func(tx app.Tx) error {
		for _, name := range names {
			value, err := c.Store.Get(ctx, name)
			if err == nil {
				err = tx.Put(name, value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// difference shows where two texts part.
func difference(a, b string) string {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	around := func(text string) string { return text[max(0, at-60):min(len(text), at+60)] }
	return fmt.Sprintf("at byte %d\nit was  …%s…\nand now …%s…", at, around(a), around(b))
}
