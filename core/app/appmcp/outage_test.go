package appmcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
)

// A lost store returns err for each call, unless err is nil.
type lost struct {
	*eventlog.Memory
	err error
}

func (l *lost) Stamp(ctx context.Context) (int64, error) {
	stamp, _ := l.Memory.Stamp(ctx)
	return stamp, l.err
}

func (l *lost) Names(ctx context.Context, prefix string) ([]string, error) {
	names, _ := l.Memory.Names(ctx, prefix)
	return names, l.err
}

func (l *lost) Records(ctx context.Context, after int64) iter.Seq2[eventlog.Record, error] {
	if l.err == nil {
		return l.Memory.Records(ctx, after)
	}
	return func(yield func(eventlog.Record, error) bool) { yield(eventlog.Record{}, l.err) }
}

func (l *lost) Write(ctx context.Context, f func(eventlog.Tx) error) error {
	return l.Memory.Write(ctx, func(tx eventlog.Tx) error { return errors.Join(f(tx), l.err) })
}

// The errors of an app hide their details from remote clients.
var (
	_ mcp.OperatorError = (*eventlog.Error)(nil)
	_ mcp.OperatorError = (*app.StuckError)(nil)
)

// Errors of the store, and of events that cannot be applied, have details for operators. Remote
// clients get the id of the request instead, with which the log has the details. Local clients get
// them.
func TestErrorsForClients(t *testing.T) {
	store, feature := &lost{Memory: eventlog.NewMemory()}, posts()
	logged := &bytes.Buffer{}
	logger := slog.New(slog.NewTextHandler(logged, nil))
	a, err := app.Open(t.Context(), store, app.Options{Program: "test", Logger: logger, Fingerprint: func(string) string { return "test" }}, feature.Feature)
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer(mcp.Implementation{Name: "test", Version: "1"}, mcp.Options{Logger: logger, CallLog: logger})
	other := mcp.AddTool(s, mcp.Tool{Name: "mine"}, func(ctx context.Context, _ struct{}) (string, error) {
		_, err := app.Do(ctx, create{Title: "mine"})
		if err != nil {
			return "", fmt.Errorf("do it: %w", err)
		}
		return "done", nil
	})
	if err := errors.Join(other, appmcp.Register(s, a, appmcp.Options{RemoteResources: true}, feature)); err != nil {
		t.Fatal(err)
	}
	calls := func(want string) {
		t.Helper()
		for _, call := range [][3]string{
			{"tools/call", "posts_create", `"name":"posts_create","arguments":{"title":"a"}`},
			{"tools/call", "posts_list", `"name":"posts_list"`},
			{"tools/call", "mine", `"name":"mine"`},
			{"resources/read", "app://log", `"uri":"app://log"`},
			{"resources/read", "app://workers", `"uri":"app://workers"`},
		} {
			if store.err == nil && (call[0] == "resources/read" || call[1] == "posts_list") || errors.Is(store.err, eventlog.ErrOutcomeUnknown) && call[1] != "mine" {
				continue // they do not fail, or fail differently
			}
			logged.Reset()
			_, text := as(t, s, nil, call[0], call[1], call[2])
			_, id, _ := strings.Cut(text, "(request ID: ")
			id, _, _ = strings.Cut(id, ")")
			if !strings.Contains(text, want) || id == "" || strings.Contains(text, "secret") {
				t.Errorf(`%s: got %s with the id %q, want %q in it, an id and no "secret"`, call[1], text, id, want)
			}
			if line := logged.String(); !strings.Contains(line, "request="+id+" ") || !strings.Contains(line, "secret") {
				t.Errorf(`%s: the log has %s, want %q and "secret" in it`, call[1], line, "request="+id+" ")
			}
		}
	}
	const details = "read schema secret of database secret on secret:5432: user=secret"
	store.err = fmt.Errorf("%s: %w", details, eventlog.ErrUnavailable)
	calls("the data is not available right now")
	if text := mcptest.Connect(t, s).CallTool("posts_list", map[string]string{}).Text(); !strings.Contains(text, details) {
		t.Errorf("a local client gets %s, want %q in it", text, details)
	}
	store.err = fmt.Errorf("%s: %w", details, eventlog.ErrFull)
	calls("the server has no space for more data")
	store.err = errors.New(details)
	calls("the data is not available right now")
	store.err = fmt.Errorf("%s: %w", details, eventlog.ErrOutcomeUnknown)
	calls("the command may or may not have been executed")

	store.err = nil
	err = store.Share().Write(t.Context(), func(tx eventlog.Tx) error {
		return tx.Append(eventlog.Record{Seq: 1, ID: "a", Type: "posts/create", Version: 1, Data: json.RawMessage(`{"title":"a","secret":true}`)})
	})
	if err != nil {
		t.Fatal(err)
	}
	calls("cannot apply event 1 of its log (posts/create, version 1), so it refuses commands of this feature")
}
