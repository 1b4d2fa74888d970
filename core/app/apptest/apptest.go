// Package apptest lets a test call features as a client does, on a log in memory.
//
//	client := apptest.Serve(t, posts.Feature())
//	client.Given("posts_create", posts.Create{Title: "Hello"})
//	client.CheckTool(t, "posts_get", mcptest.Example{Input: posts.Get{ID: "id1"}, Output: posts.Post{ID: "id1", Title: "Hello"}})
//
// When the test ends, its log is replayed in several ways. Each must lead to the state that the
// test left.
package apptest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
)

// A Client is a client of a server with features.
type Client struct {
	*mcptest.Client
	App   *app.App
	Store app.Store // of the app

	t        testing.TB
	server   *mcp.Server
	features []app.Feature
	options  app.Options
	later    atomic.Int64 // how far the clock was moved forward
}

// Serve returns a client of a server with the features, on an empty log in memory. Events have the
// ids id1, id2, and so on. The first has the time 2026-01-01T00:00:00Z, and each further one is a
// second later (see [Time] and [Client.Later]). Workers run only in [Client.Work]. When the test
// ends, the log is replayed twice, and from snapshots; each must lead to the state that the test
// left. Other features of the program may be left out.
func Serve(t testing.TB, features ...appmcp.Feature) *Client {
	t.Helper()
	store := app.NewMemory()
	c := &Client{Store: store, t: t}
	c.options = c.newOptions()
	for _, f := range features {
		c.features = append(c.features, f.Feature)
	}
	var err error
	if c.App, err = app.Open(t.Context(), store, c.options, c.features...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.checkReplay(context.Background()) }) // after the session has ended
	c.Client = mcptest.Serve(t, func(s *mcp.Server) error {
		c.server = s
		return appmcp.Register(s, c.App, store, appmcp.Options{}, features...)
	})
	return c
}

// Offer registers more on the server, such as tools that use the features:
// client.Offer(tools.Register).
func (c *Client) Offer(register func(*mcp.Server) error) {
	c.t.Helper()
	if err := register(c.server); err != nil {
		c.t.Fatal(err)
	}
}

// Connect returns another client of the same server.
func (c *Client) Connect(o mcptest.Options) *mcptest.Client {
	c.t.Helper()
	return mcptest.ConnectWith(c.t, c.server, o)
}

// newOptions returns options that make an app deterministic.
func (c *Client) newOptions() app.Options {
	var events atomic.Int64
	return app.Options{
		Program:     "test",
		Partial:     true,
		Logger:      slog.New(slog.NewTextHandler(c.t.Output(), nil)),
		Fingerprint: "test",
		Now: func() time.Time {
			before := max(0, events.Load()-1) // NewID is called before Now
			return Time(before + 1).Add(time.Duration(c.later.Load()))
		},
		NewID: func() string { return fmt.Sprintf("id%d", events.Add(1)) },
	}
}

// Time returns the time of an event of a test's log, by its sequence number, unless [Client.Later]
// has moved the clock.
func Time(seq int64) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seq-1) * time.Second)
}

// Given calls a tool, and fails the test if the tool fails. The input is a Go value, or JSON text
// as a string.
func (c *Client) Given(tool string, input any) {
	c.t.Helper()
	if result := c.CallTool(tool, input); result.IsError {
		c.t.Fatalf("%s %+v: %s", tool, input, result.Text())
	}
}

// Work makes the workers handle everything that is pending now, once. It fails the test if one
// fails.
func (c *Client) Work(ctx context.Context) {
	c.t.Helper()
	if err := c.App.WorkOnce(ctx); err != nil {
		c.t.Errorf("working: %v", err)
	}
}

// Later moves the clock forward, for later events and for [app.Now].
func (c *Client) Later(by time.Duration) { c.later.Add(int64(by)) }

// checkReplay fails the test if replay leads to another state than the test left.
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
				c.t.Errorf("the state of %s differs when the log is %s: %s\nApply must depend only on the state, the command and its event; Check and Answer must not change the state; the state must be in exported fields.", feature, way.name, difference(a, b))
				return
			}
		}
	}
}

// replay returns the state after a replay of the whole log.
func (c *Client) replay(ctx context.Context) (map[string]json.RawMessage, error) {
	whole := c.options
	whole.NoSnapshot = true
	a, err := app.Open(ctx, c.Store, whole, c.features...)
	if err != nil {
		return nil, err
	}
	return a.Dump(ctx)
}

// replayHalf returns the state after a replay of the second half of the log, from a snapshot after
// the first half. It uses a copy of the store.
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

// copyDocuments copies the documents of the store.
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

// difference shows where two texts differ.
func difference(a, b string) string {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	around := func(text string) string { return text[max(0, at-60):min(len(text), at+60)] }
	return fmt.Sprintf("at byte %d\nit was  …%s…\nand now …%s…", at, around(a), around(b))
}

// Replayed returns the command that an event decodes to during replay: read strictly, and upgraded
// to the current version. It fails the test if the event cannot be read, or decodes to another
// command.
func Replayed[C any](t testing.TB, event app.Record, features ...appmcp.Feature) C {
	t.Helper()
	var plain []app.Feature
	for _, f := range features {
		plain = append(plain, f.Feature)
	}
	var none C
	a, err := app.Open(t.Context(), app.NewMemory(), app.Options{Program: "test", Partial: true, Fingerprint: "test"}, plain...)
	if err != nil {
		t.Fatal(err)
		return none
	}
	read, err := a.Command(event)
	if err != nil {
		t.Fatalf("%s, version %d, %s: the event %v", event.Type, event.Version, event.Data, err)
	}
	command, ok := read.(C)
	if !ok {
		t.Fatalf("%s, version %d, %s: got %T, want %T", event.Type, event.Version, event.Data, read, none)
	}
	return command
}
