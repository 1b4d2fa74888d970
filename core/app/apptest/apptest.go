// Package apptest tests features with a client and an event log in memory.
//
//	client := apptest.Serve(t, posts.Feature())
//	client.Given("posts_create", posts.Create{Title: "Hello"})
//	client.CheckTool(t, "posts_get", mcptest.Example{
//		Input: posts.Get{ID: "id1"},
//		Output: posts.Post{
//			ID: "id1", Seq: 1, Title: "Hello", CreatedAt: apptest.Time(1), UpdatedAt: apptest.Time(1),
//		},
//	})
//
// When the test ends, its log is replayed, from the first event and from a snapshot. The test fails
// if replay leads to a different state.
package apptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
)

// A Client is a client of a server with features.
type Client struct {
	*mcptest.Client
	App   *app.App
	Store eventlog.Store // of the app

	t        testing.TB
	server   *mcp.Server
	served   []appmcp.Feature
	internal *mcptest.Client // of a server with the commands and queries that are not tools; nil until it is used
	features []app.Feature
	options  app.Options
	advanced atomic.Int64 // duration that the clock was advanced by
}

// Serve returns a client of a server with the features, on an empty log in memory. Features that
// they use are part of the app too, without their tools and workers.
//
// Events have the ids id1, id2, and so on. The first has the time 2026-01-01T00:00:00Z, and each
// further one is a second later; see [Time] and [Client.Advance]. The actor of calls is [Actor];
// for another one, use [mcptest.Client.As]. Workers run only in [Client.Work].
//
// When the test ends, the log is replayed, from the first event and from a snapshot. The test fails
// if replay leads to a different state.
func Serve(t testing.TB, features ...appmcp.Feature) *Client {
	t.Helper()
	store := eventlog.NewMemory()
	c := &Client{Store: store, t: t, served: features}
	c.options = c.newOptions()
	for _, f := range features {
		c.features = append(c.features, f.Feature)
	}
	c.addUsed(c.features)
	var err error
	if c.App, err = app.Open(t.Context(), store, c.options, c.features...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.checkReplay(context.Background()) }) // after the session has ended
	c.Client = mcptest.Serve(t, func(s *mcp.Server) error {
		c.server = s
		return appmcp.Register(s, c.App, appmcp.Options{}, features...)
	})
	return c
}

// CheckStored fails a subtest, named after the type, for the first event of each type that the
// features cannot decode. events are lines of JSON of [eventlog.Record]. petrock calls it before it
// writes a change.
func CheckStored(t *testing.T, events string, features ...appmcp.Feature) {
	t.Helper()
	a := Serve(t, features...).App
	failed := map[string]bool{}
	for line := range strings.Lines(events) {
		var r eventlog.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Command(r); err != nil && !failed[r.Type] {
			failed[r.Type] = true
			t.Run(r.Type, func(t *testing.T) { t.Errorf("event %d %v", r.Seq, err) })
		}
	}
}

// addUsed adds the features that others use, directly or indirectly.
func (c *Client) addUsed(features []app.Feature) {
	for _, f := range features {
		for _, used := range f.Uses {
			if !slices.ContainsFunc(c.features, func(f app.Feature) bool { return f.Name == used.Name }) {
				used.Workers = nil
				c.features = append(c.features, used)
				c.addUsed([]app.Feature{used})
			}
		}
	}
}

// Register registers more on the server, such as tools that use the features:
// client.Register(tools.Register).
func (c *Client) Register(register func(*mcp.Server) error) {
	c.t.Helper()
	if err := register(c.server); err != nil {
		c.t.Fatal(err)
	}
	c.Client = c.Reconnect()
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
		Fingerprint: func(string) string { return "test" },
		Now: func() time.Time {
			before := max(0, events.Load()-1) // NewID is called before Now
			return Time(before + 1).Add(time.Duration(c.advanced.Load()))
		},
		NewID: func() string { return fmt.Sprintf("id%d", events.Add(1)) },
		Actor: func(ctx context.Context) string {
			if id := auth.From(ctx); id != nil {
				return id.Actor()
			}
			return Actor
		},
	}
}

// Actor is the actor of calls in tests, unless the client has another identity.
const Actor = "local:test"

// Time returns the time of an event of a test's log, by its sequence number, unless
// [Client.Advance] has moved the clock.
func Time(seq int64) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seq-1) * time.Second)
}

// CallTool is [mcptest.Client.CallTool]. It also calls commands and queries with
// //petrock:internal. A command that writes an older version is sent as its Downgrade.
func (c *Client) CallTool(name string, arguments any) *mcp.ToolResult {
	c.t.Helper()
	return c.clientOf(name).CallTool(name, c.input(arguments))
}

// CheckTool is [mcptest.Client.CheckTool]. It also calls commands and queries with
// //petrock:internal. A command that writes an older version is sent as its Downgrade.
func (c *Client) CheckTool(t testing.TB, name string, e mcptest.Example) {
	t.Helper()
	e.Input = c.input(e.Input)
	c.clientOf(name).CheckTool(t, name, e)
}

// clientOf returns the client that calls a tool: that of the server, unless only the other server
// has the tool.
func (c *Client) clientOf(name string) *mcptest.Client {
	c.t.Helper()
	isInternal := func(f appmcp.Feature) bool { return f.Internal != nil && strings.HasPrefix(name, f.Name+"_") }
	if _, ok := c.server.ToolScopes()[name]; ok || !slices.ContainsFunc(c.served, isInternal) {
		return c.Client
	}
	if c.internal == nil {
		c.internal = mcptest.Serve(c.t, func(s *mcp.Server) (err error) {
			for _, f := range c.served {
				if f.Internal != nil {
					err = errors.Join(err, f.Internal(s, c.App))
				}
			}
			return err
		})
	}
	return c.internal
}

func (c *Client) input(arguments any) any {
	c.t.Helper()
	sent, err := c.App.Input(arguments)
	if err != nil {
		c.t.Fatal(err)
	}
	return sent
}

// Given calls a tool to prepare a test, and fails the test if the tool fails. The input is a Go
// value, or JSON text as a string.
func (c *Client) Given(tool string, input any) {
	c.t.Helper()
	if result := c.CallTool(tool, input); result.IsError {
		c.t.Fatalf("%s %+v: %s", tool, input, result.Text())
	}
}

// Work makes the workers with the given names, such as posts/digest, call their periodic methods
// once, and handle all events. Without names, all workers do so. It fails the test if a worker
// fails.
func (c *Client) Work(ctx context.Context, names ...string) {
	c.t.Helper()
	if err := c.App.WorkOnce(ctx, names...); err != nil {
		c.t.Errorf("run the workers: %v", err)
	}
}

// Workers returns the names of the workers, such as posts/digest.
func (c *Client) Workers() []string {
	return app.NewAdmin(c.Store, c.options, c.features...).WorkerNames()
}

// Advance moves the clock forward, for new events and for [app.Now].
func (c *Client) Advance(by time.Duration) { c.advanced.Add(int64(by)) }

// checkReplay fails the test if replay or a snapshot leads to a different state.
func (c *Client) checkReplay(ctx context.Context) {
	c.t.Helper()
	if err := c.App.CheckSnapshots(ctx); err != nil {
		c.t.Errorf("a snapshot would change the state: %v", err)
		return
	}
	live, err := c.App.Dump(ctx)
	if err != nil {
		c.t.Errorf("read the state: %v", err)
		return
	}
	for _, way := range []struct {
		name   string
		replay func(context.Context) (map[string]json.RawMessage, error)
	}{
		{"replay", c.replay},
		{"second replay", c.replay},
		{"replay from a snapshot", c.replayHalf},
	} {
		again, err := way.replay(ctx)
		if err != nil {
			c.t.Errorf("%s failed: %v", way.name, err)
			continue
		}
		for _, feature := range slices.Sorted(maps.Keys(live)) {
			if a, b := string(live[feature]), string(again[feature]); a != b {
				c.t.Errorf("the state of %s differs after %s: %s\nApply must depend only on the state, the command and its event; Check and Answer must not change the state; the state must be in exported fields.", feature, way.name, difference(a, b))
				return
			}
		}
	}
}

// replay returns the states after a replay of the whole log.
func (c *Client) replay(ctx context.Context) (map[string]json.RawMessage, error) {
	o := c.options
	o.NoSnapshot = true
	a, err := app.Open(ctx, c.Store, o, c.features...)
	if err != nil {
		return nil, err
	}
	return a.Dump(ctx)
}

// replayHalf returns the states after a replay of the second half of the log, from a snapshot taken
// after the first half. It uses a copy of the store.
func (c *Client) replayHalf(ctx context.Context) (map[string]json.RawMessage, error) {
	var records []eventlog.Record
	for record, err := range c.Store.Records(ctx, 0) {
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	store := eventlog.NewMemory()
	half := len(records) / 2
	if err := c.copyDocuments(ctx, store); err != nil {
		return nil, err
	}
	if err := store.Write(ctx, func(tx eventlog.Tx) error { return tx.Append(records[:half]...) }); err != nil {
		return nil, err
	}
	a, err := app.Open(ctx, store, c.options, c.features...)
	if err != nil {
		return nil, err
	}
	if err := a.Snapshot(ctx); err != nil {
		return nil, err
	}
	if err := store.Write(ctx, func(tx eventlog.Tx) error { return tx.Append(records[half:]...) }); err != nil {
		return nil, err
	}
	if a, err = app.Open(ctx, store, c.options, c.features...); err != nil {
		return nil, err
	}
	return a.Dump(ctx)
}

func (c *Client) copyDocuments(ctx context.Context, to eventlog.Store) error {
	return to.Write(ctx, func(tx eventlog.Tx) error {
		for d, err := range c.Store.Documents(ctx, "", "") {
			if err == nil {
				err = tx.Put(d.Name, d.Value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// difference returns the parts of two texts around their first difference.
func difference(a, b string) string {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	around := func(text string) string { return text[max(0, at-60):min(len(text), at+60)] }
	return fmt.Sprintf("at byte %d\nbefore: …%s…\nafter:  …%s…", at, around(a), around(b))
}

// Replayed decodes an event as replay does: strictly, and upgraded to the current version. It fails
// the test if the event cannot be read, or is not a command of type C.
func Replayed[C any](t testing.TB, event eventlog.Record, features ...appmcp.Feature) C {
	t.Helper()
	var plain []app.Feature
	for _, f := range features {
		plain = append(plain, f.Feature)
	}
	var none C
	a, err := app.Open(t.Context(), eventlog.NewMemory(), app.Options{Program: "test", Partial: true, Fingerprint: func(string) string { return "test" }}, plain...)
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
