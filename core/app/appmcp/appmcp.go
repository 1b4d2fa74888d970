// Package appmcp offers an app to MCP clients: its commands and queries as tools, its log, features and workers as
// resources.
package appmcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// A Feature is a feature with the tools that its commands and queries are. Derived code makes one of a package.
type Feature struct {
	app.Feature
	Register func(*mcp.Server, *app.App) error
}

// Register offers the tools of all features, and what there is to see of the app as resources. The store is that of the
// app. The contexts of all calls lead to the app, so that other tools too may use [app.Do] and [app.Ask]. Clients that have subscribed to one of the resources are told when it has changed, as long as the app runs.
//
// The log and the workers show what all commands were given and came to, so who reads them by a token needs the scopes of all tools
// of the features.
func Register(s *mcp.Server, a *app.App, store app.Store, features ...Feature) error {
	var errs []error
	before := s.ToolScopes()
	for _, f := range features {
		if f.Register != nil {
			errs = append(errs, f.Register(s, a))
		}
	}
	errs = append(errs, registerResources(s, a, store, added(before, s.ToolScopes())))
	s.Provide(func(ctx context.Context) context.Context { return app.With(ctx, a) })
	a.Watch(func() { s.ResourcesUpdated(shows) })
	return errors.Join(errs...)
}

// added are the scopes of the tools that are there now and were not before.
func added(before, now map[string][]string) []string {
	var all []string
	for name, scopes := range now {
		if _, ok := before[name]; !ok {
			all = append(all, scopes...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// shows reports whether an address is that of one of the app's resources, with whatever query.
func shows(uri string) bool {
	place, _, _ := strings.Cut(uri, "?")
	return place == logURI || place == featuresURI || place == workersURI
}

// Do returns a command as a function for [mcp.AddTool]. A call whose _meta has an idempotencyKey gives the command that key. Callers that are
// known have keys of their own: what one came to is not told to another who has chosen the same.
func Do[C app.Commander[S, Out], S, Out any](a *app.App) func(context.Context, C) (mcp.Encoded[Out], error) {
	return func(ctx context.Context, c C) (mcp.Encoded[Out], error) {
		ctx, err := WithKey(ctx)
		if err != nil {
			return mcp.Encoded[Out]{}, err
		}
		raw, err := app.Execute[S, Out](ctx, a, c)
		return mcp.Encoded[Out]{JSON: raw}, err
	}
}

// Ask returns a query as a function for [mcp.AddTool].
func Ask[Q app.Answerer[S, Out], S, Out any](a *app.App) func(context.Context, Q) (mcp.Encoded[Out], error) {
	return func(ctx context.Context, q Q) (mcp.Encoded[Out], error) {
		raw, err := app.Read[S, Out](ctx, a, q)
		return mcp.Encoded[Out]{JSON: raw}, err
	}
}

// WithKey is ctx with the idempotency key that its call carries, if it does. It is for tools that execute one command, and so
// give back the same when they are called again.
func WithKey(ctx context.Context) (context.Context, error) {
	call := mcp.CallFrom(ctx)
	if call == nil || call.Meta == nil {
		return ctx, nil
	}
	err := strictjson.Members(call.Meta, func(name, value []byte) error {
		if string(name) != "idempotencyKey" {
			return nil
		}
		key, ok := strictjson.Unquote(value)
		switch {
		case !ok:
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta.idempotencyKey must be a string, got %s", strictjson.Describe(value))
		case key == "":
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta.idempotencyKey must not be empty: leave it out for a command that is executed each time")
		}
		ctx = app.WithKey(ctx, ownKey(ctx, key))
		return nil
	})
	return ctx, err
}

// ownKey is the key of a caller in the log, where those of all are.
func ownKey(ctx context.Context, key string) string {
	principal := auth.From(ctx).Principal()
	if principal == "" {
		return key
	}
	sum := sha256.Sum256([]byte(principal))
	return hex.EncodeToString(sum[:8]) + ":" + key
}

// The addresses of the app's resources.
const (
	logURI      = "app://log"
	featuresURI = "app://features"
	workersURI  = "app://workers"
)

// asJSON is the type of all of them.
const asJSON = "application/json"

// registerResources offers what there is to see of an app, of which the log and the workers need scopes.
func registerResources(s *mcp.Server, a *app.App, store app.Store, scopes []string) error {
	return errors.Join(
		s.AddResource(mcp.Resource{
			URI: logURI, Name: "log", Title: "The log", MIMEType: asJSON, Scopes: scopes,
			Description: "The commands that were executed, oldest first, a page at a time; next is the address of what follows.",
		}, readLog(store)),
		s.AddResourceTemplate(mcp.ResourceTemplate{
			URITemplate: logURI + "{?after,limit}", Name: "log_after", Title: "The log after an event", MIMEType: asJSON, Scopes: scopes,
			Description: "The commands that were executed after the one with the sequence number after (0 if left out), at most limit of them (100 if left out, never more than 1000, and fewer if they are big).",
		}, readLog(store)),
		mcp.AddResource(s, mcp.Resource{
			URI: featuresURI, Name: "features", Title: "The features", MIMEType: asJSON,
			Description: "The features of the application, with their commands, queries and workers. A feature with stuck answers no calls: it says why.",
		}, a.Status),
		mcp.AddResource(s, mcp.Resource{
			URI: workersURI, Name: "workers", Title: "The workers", MIMEType: asJSON, Scopes: scopes,
			Description: "How far each worker is, what it fails on, and what was set aside.",
		}, func(ctx context.Context) (workersPage, error) {
			all, err := app.Workers(ctx, store)
			return workersPage{all}, err
		}),
	)
}

// A workersPage is what app://workers shows.
type workersPage struct {
	Workers []app.WorkerStatus `json:"workers"`
}

// How many events a page of the log has, and after how many bytes there are no more.
const (
	usualPage = 100
	mostOnOne = 1000
	mostBytes = 1 << 20
)

// A logPage is a part of the log.
type logPage struct {
	Events []app.Record `json:"events"`
	Last   int64        `json:"last"` // the last event of the whole log
	Next   string       `json:"next"` // the address of what follows, now or later
}

// readLog reads pages of the log of a store, and so also events that the app cannot apply.
func readLog(store app.Store) mcp.ResourceHandler {
	return func(ctx context.Context, uri string, variables map[string]string) ([]mcp.ResourceContents, error) {
		page, err := readPage(ctx, store, uri, variables)
		if err != nil {
			return nil, err
		}
		raw, err := strictjson.Marshal(page)
		if err != nil {
			return nil, fmt.Errorf("encoding the log: %w", err)
		}
		return []mcp.ResourceContents{{Text: string(raw)}}, nil
	}
}

// readPage is the page of the log that an address asks for.
func readPage(ctx context.Context, store app.Store, uri string, variables map[string]string) (*logPage, error) {
	if err := checkQuery(uri); err != nil {
		return nil, err
	}
	after, err := number(variables, "after", 0, 0, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	limit, err := number(variables, "limit", usualPage, 1, mostOnOne)
	if err != nil {
		return nil, err
	}
	page := &logPage{Events: []app.Record{}}
	bytes := 0
	for record, err := range store.Records(ctx, after) {
		if err != nil {
			return nil, fmt.Errorf("reading the log: %w", err)
		}
		page.Events = append(page.Events, record)
		after = record.Seq
		if bytes += len(record.Data) + len(record.Result); int64(len(page.Events)) == limit || bytes > mostBytes {
			break
		}
	}
	page.Next = fmt.Sprintf("%s?after=%d", logURI, after)
	if limit != usualPage {
		page.Next += fmt.Sprintf("&limit=%d", limit)
	}
	if page.Last, err = store.Last(ctx); err != nil {
		return nil, fmt.Errorf("reading the log: %w", err)
	}
	return page, nil
}

// number is a variable of an address that is a whole number.
func number(variables map[string]string, name string, usual, least, most int64) (int64, error) {
	text, ok := variables[name]
	if !ok {
		return usual, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case (err != nil || n < least || n > most) && most == math.MaxInt64:
		return 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "%s: %s must be a whole number from %d on, got %q", logURI, name, least, text)
	case err != nil || n < least || n > most:
		return 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "%s: %s must be a whole number from %d to %d, got %q", logURI, name, least, most, text)
	}
	return n, nil
}

// checkQuery refuses an address that asks for more than there is: a mistyped after would show another page.
func checkQuery(uri string) error {
	parsed, err := url.Parse(uri)
	if err != nil {
		return mcp.NotFound(uri)
	}
	for name, values := range parsed.Query() {
		if name != "after" && name != "limit" || len(values) > 1 {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "%s: it takes after and limit, once each, not %q", logURI, parsed.RawQuery)
		}
	}
	return nil
}
