package apptest

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/appmcp"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
)

// A Client is a client of a server that has features.
type Client struct {
	*mcptest.Client
	App   *app.App
	Store app.Store // of the app

	t        testing.TB
	server   *mcp.Server
	features []app.Feature
	options  app.Options
	later    atomic.Int64 // by how much the clock was moved on
}

// Serve is a client of a server that has the features, on an empty log in memory. Entries have the ids id1, id2, and so
// on; the first has the time 2026-01-01T00:00:00Z, and each the time of a second later (see [Time] and [Client.Later]). Workers do nothing unless
// [Client.Work] says so. When the test ends, the log is replayed twice, and from snapshots, and
// each has to give the state that the test has left. Other features of the program need not be there.
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
	t.Cleanup(func() { c.checkReplay(context.Background()) }) // after the session
	c.Client = mcptest.Serve(t, func(s *mcp.Server) error {
		c.server = s
		return appmcp.Register(s, c.App, store, features...)
	})
	return c
}

// Offer has the server offer more, such as tools that use the features: client.Offer(tools.Register).
func (c *Client) Offer(register func(*mcp.Server) error) {
	c.t.Helper()
	if err := register(c.server); err != nil {
		c.t.Fatal(err)
	}
}

// Connect is one more client of the same server.
func (c *Client) Connect(o mcptest.Options) *mcptest.Client {
	c.t.Helper()
	return mcptest.ConnectWith(c.t, c.server, o)
}

// newOptions are those of an app to which the same things happen in every test.
func (c *Client) newOptions() app.Options {
	var entries atomic.Int64
	return app.Options{
		Program:     "test",
		Partial:     true,
		Logger:      slog.New(slog.NewTextHandler(c.t.Output(), nil)),
		Fingerprint: "test",
		Now: func() time.Time {
			before := max(0, entries.Load()-1) // an entry has its id first
			return Time(before + 1).Add(time.Duration(c.later.Load()))
		},
		NewID: func() string { return fmt.Sprintf("id%d", entries.Add(1)) },
	}
}

// Time returns the time of an entry of a test's log, by its sequence number, as long as [Client.Later] has not moved the
// clock.
func Time(seq int64) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seq-1) * time.Second)
}

// Given calls a tool, and fails the test if the tool fails. The input is a Go value or, as a string, JSON text.
func (c *Client) Given(tool string, input any) {
	c.t.Helper()
	if result := c.CallTool(tool, input); result.IsError {
		c.t.Fatalf("%s %+v: %s", tool, input, result.Text())
	}
}

// Work has the workers do all that there is to do now, once. An error of one fails the test.
func (c *Client) Work(ctx context.Context) {
	c.t.Helper()
	if err := c.App.WorkOnce(ctx); err != nil {
		c.t.Errorf("working: %v", err)
	}
}

// Later moves the clock on, for entries that follow and for [app.Now].
func (c *Client) Later(by time.Duration) { c.later.Add(int64(by)) }
