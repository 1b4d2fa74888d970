// Package appmcp offers an app to MCP clients: its commands and queries as tools, and its log,
// features and workers as resources.
package appmcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// A Feature is a feature with the tools of its commands and queries. Derived code builds one from a
// package.
type Feature struct {
	app.Feature
	Register func(*mcp.Server, *app.App) error

	// Internal registers the commands and queries that are not tools. Only tests use it. It may be
	// nil.
	Internal func(*mcp.Server, *app.App) error
}

// Options configure [Register]. The zero value has good defaults.
type Options struct {
	// RemoteResources offers the app's resources to remote clients too, such as HTTP clients. By
	// default only local clients, such as the one on stdio, see them. The resources show the inputs
	// and outputs of all commands. To read the log and the workers, a token needs the scopes of all
	// tools of the features.
	RemoteResources bool
}

// Register adds the tools of all features, and the app's resources. The contexts of all calls
// contain the app, so that other tools can use [app.Do] and [app.Query] too. For the log to record
// callers and causes, open the app with [Actor] and [Cause] in its options. Clients that have
// subscribed to a resource are notified of changes while [app.App.Run] runs.
func Register(s *mcp.Server, a *app.App, o Options, features ...Feature) error {
	var errs []error
	before := s.ToolScopes()
	for _, f := range features {
		if f.Register != nil {
			errs = append(errs, f.Register(s, a))
		}
	}
	errs = append(errs, registerResources(s, a, !o.RemoteResources, addedScopes(before, s.ToolScopes())))
	s.Provide(func(ctx context.Context) context.Context { return app.With(ctx, a) })
	a.Watch(func() { s.ResourcesUpdated(isAppResource) })
	return errors.Join(errs...)
}

// addedScopes returns the scopes of the tools that are in now but not in before.
func addedScopes(before, now map[string][]string) []string {
	var all []string
	for name, scopes := range now {
		if _, ok := before[name]; !ok {
			all = append(all, scopes...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// isAppResource reports whether a URI, without its query, is one of the app's resources.
func isAppResource(uri string) bool {
	base, _, _ := strings.Cut(uri, "?")
	return base == logURI || base == featuresURI || base == workersURI
}

// Do returns a function for [mcp.AddTool] that executes a command. The member idempotencyKey of the
// call's _meta is the idempotency key of the command. Authenticated callers have separate keys:
// they cannot see each other's results.
func Do[C app.Commander[S, Out], S, Out any](a *app.App) func(context.Context, C) (mcp.Encoded[Out], error) {
	return DoOlder[C, C](a)
}

// DoOlder is [Do] for a command that writes the version of Old, see [app.CommandType.Writes].
func DoOlder[C app.Commander[S, Out], Old, S, Out any](a *app.App) func(context.Context, Old) (mcp.Encoded[Out], error) {
	return func(ctx context.Context, old Old) (mcp.Encoded[Out], error) {
		ctx, err := WithKey(ctx)
		if err != nil {
			return mcp.Encoded[Out]{}, err
		}
		raw, err := app.DoOlderRaw(ctx, a, old)
		return mcp.Encoded[Out]{JSON: raw}, err
	}
}

// Query returns a function for [mcp.AddTool] that runs a query.
func Query[Q app.Answerer[S, Out], S, Out any](a *app.App) func(context.Context, Q) (mcp.Encoded[Out], error) {
	return func(ctx context.Context, q Q) (mcp.Encoded[Out], error) {
		raw, err := app.QueryRaw[S, Out](ctx, a, q)
		return mcp.Encoded[Out]{JSON: raw}, err
	}
}

// WithKey returns ctx with the idempotency key of its call, if it has one. A tool that executes one
// command with it returns the same result when the call is retried.
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
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta.idempotencyKey must not be empty; omit it to execute the command each time")
		}
		ctx = app.WithKeyOf(ctx, auth.From(ctx).Principal(), key)
		return nil
	})
	return ctx, err
}

// Actor returns the actor of a call, for [app.Options]: the authenticated caller, anonymous for a
// remote caller that is not authenticated, or the local user, such as local:ada.
func Actor(ctx context.Context) string { return ActorOf("")(ctx) }

// ActorOf is [Actor] with another name for local callers; empty means the local user.
func ActorOf(local string) func(context.Context) string {
	return func(ctx context.Context) string {
		if id := auth.From(ctx); id != nil {
			return id.Actor()
		}
		if call := mcp.CallFrom(ctx); call != nil && call.IsRemote() {
			return "anonymous"
		}
		return cmp.Or(local, localUser())
	}
}

// localUser returns the actor of the user who runs this process.
func localUser() string {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil { // caches its result
		name = u.Username
	}
	return "local:" + name
}

// Cause returns the request that a context belongs to, for [app.Options].
func Cause(ctx context.Context) eventlog.Cause {
	call := mcp.CallFrom(ctx)
	if call == nil {
		return eventlog.Cause{}
	}
	cause := eventlog.Cause{Request: call.RequestID(), Session: call.SessionID(), Traceparent: call.Traceparent()}
	if call.Method == "tools/call" {
		cause.Tool = call.Target
	}
	return cause
}

// staleKey is the key in the _meta of results that lack events.
const staleKey = "petrock/stale"

// OnStale is for [app.Options]: it adds petrock/stale to the _meta of the result of a call, with
// the event that this build cannot read. The result is as of the event before.
func OnStale(ctx context.Context, stuck *app.StuckError) {
	if call := mcp.CallFrom(ctx); call != nil {
		r := stuck.Record
		call.SetResultMeta(staleKey, staleMark{r.Seq, fmt.Sprintf("this server cannot read event %d (%s, version %d)", r.Seq, r.Type, r.Version)})
	}
}

// A staleMark is the value of staleKey.
type staleMark struct {
	Event  int64  `json:"event"` // sequence number
	Reason string `json:"reason"`
}

// URIs of the app's resources.
const (
	logURI      = "app://log"
	featuresURI = "app://features"
	workersURI  = "app://workers"
)

const mimeJSON = "application/json"

// registerResources adds the app's resources. The log and the workers require the scopes.
func registerResources(s *mcp.Server, a *app.App, local bool, scopes []string) error {
	store := a.Store()
	return errors.Join(
		s.AddResource(mcp.Resource{
			URI: logURI, Name: "log", Title: "Event log", MIMEType: mimeJSON, Local: local, Scopes: scopes,
			Description: "The executed commands, oldest first, in pages. Read the URI in next for the next page.",
		}, readLog(store)),
		s.AddResourceTemplate(mcp.ResourceTemplate{
			URITemplate: logURI + "{?after,limit}", Name: "log_after", Title: "Event log after an event", MIMEType: mimeJSON, Local: local, Scopes: scopes,
			Description: "The commands executed after the event with the sequence number after (default 0). limit is the maximum number of events (default 100, maximum 1000); a page of large events has fewer.",
		}, readLog(store)),
		mcp.AddResource(s, mcp.Resource{
			URI: featuresURI, Name: "features", Title: "Features", MIMEType: mimeJSON, Local: local,
			Description: "The features of the application, with their commands, queries and workers. If stuck is set, commands of the feature fail; stuck is the reason. Its queries fail too, unless stale is true: then they answer as of the event before.",
		}, a.Status),
		mcp.AddResource(s, mcp.Resource{
			URI: workersURI, Name: "workers", Title: "Workers", MIMEType: mimeJSON, Local: local, Scopes: scopes,
			Description: "The position of each worker in the log, its last error, and the events that it has set aside after repeated failures.",
		}, func(ctx context.Context) (workersPage, error) {
			all, err := a.Workers(ctx)
			return workersPage{all}, err
		}),
	)
}

// A workersPage is the content of app://workers.
type workersPage struct {
	Workers []app.WorkerStatus `json:"workers"`
}

// Limits of a page of the log.
const (
	defaultPage = 100 // events
	maxPage     = 1000
	maxBytes    = 1 << 20 // the page ends with the event that exceeds it
)

// A logPage is a page of app://log.
type logPage struct {
	Events []eventlog.Record `json:"events"`
	Last   int64             `json:"last"` // sequence number of the last event of the log
	Next   string            `json:"next"` // URI of the next page
}

// readLog returns a handler for pages of the log. It reads the store, so it also shows events that
// the app cannot apply.
func readLog(store eventlog.Store) mcp.ResourceHandler {
	return func(ctx context.Context, uri string, variables map[string]string) ([]mcp.ResourceContents, error) {
		page, err := readPage(ctx, store, uri, variables)
		if err != nil {
			return nil, err
		}
		raw, err := strictjson.Marshal(page)
		if err != nil {
			return nil, fmt.Errorf("encode the log: %w", err)
		}
		return []mcp.ResourceContents{{Text: string(raw)}}, nil
	}
}

func readPage(ctx context.Context, store eventlog.Store, uri string, variables map[string]string) (*logPage, error) {
	if err := checkQuery(uri); err != nil {
		return nil, err
	}
	after, err := intVariable(variables, "after", 0, 0, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	limit, err := intVariable(variables, "limit", defaultPage, 1, maxPage)
	if err != nil {
		return nil, err
	}
	page := &logPage{Events: []eventlog.Record{}}
	bytes := 0
	for record, err := range store.Records(ctx, after) {
		if err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		page.Events = append(page.Events, record)
		after = record.Seq
		if bytes += len(record.Data) + len(record.Result) + len(record.Cause); int64(len(page.Events)) == limit || bytes > maxBytes {
			break
		}
	}
	page.Next = fmt.Sprintf("%s?after=%d", logURI, after)
	if limit != defaultPage {
		page.Next += fmt.Sprintf("&limit=%d", limit)
	}
	if page.Last, err = store.Last(ctx); err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	return page, nil
}

// intVariable returns an integer variable of a URI, or the default.
func intVariable(variables map[string]string, name string, fallback, least, most int64) (int64, error) {
	text, ok := variables[name]
	if !ok {
		return fallback, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case (err != nil || n < least || n > most) && most == math.MaxInt64:
		return 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "%s: %s must be an integer of at least %d, got %q", logURI, name, least, text)
	case err != nil || n < least || n > most:
		return 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "%s: %s must be an integer from %d to %d, got %q", logURI, name, least, most, text)
	}
	return n, nil
}

// checkQuery returns an error for unknown or repeated parameters. Ignoring a mistyped one would
// return the wrong page.
func checkQuery(uri string) error {
	parsed, err := url.Parse(uri)
	if err != nil {
		return mcp.NotFound(uri)
	}
	for name, values := range parsed.Query() {
		if name != "after" && name != "limit" || len(values) > 1 {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "%s: unknown or repeated parameter in %q; the parameters are after and limit", logURI, parsed.RawQuery)
		}
	}
	return nil
}
