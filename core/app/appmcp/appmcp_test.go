package appmcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/user"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/apptest"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcphttp"
	"github.com/petrock/petrock/core/mcptest"
)

type state struct {
	Posts map[string]string
}

type create struct {
	Title string `json:"title"`
}

type createOutput struct {
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
}

func (c create) Check(_ context.Context, s *state) error {
	for _, title := range s.Posts {
		if title == c.Title {
			return fmt.Errorf("there is a post %q already", c.Title)
		}
	}
	return nil
}

func (c create) Apply(s *state, e app.Event) createOutput {
	s.Posts[e.ID] = c.Title
	return createOutput{e.ID, e.Time}
}

type title struct {
	ID string `json:"id"`
}

func (q title) Answer(_ context.Context, s *state) (string, error) {
	if text, ok := s.Posts[q.ID]; ok {
		return text, nil
	}
	return "", fmt.Errorf("there is no post %s", q.ID)
}

type list struct{}

func (list) Answer(_ context.Context, s *state) ([]string, error) {
	var titles []string
	for _, title := range s.Posts {
		titles = append(titles, title)
	}
	slices.Sort(titles)
	return titles, nil
}

// posts is a feature as derived code makes one.
func posts() appmcp.Feature {
	return appmcp.Feature{
		Feature: app.Feature{
			Name:     "posts",
			State:    app.StateOf(func() *state { return &state{Posts: map[string]string{}} }),
			Commands: []app.CommandType{app.CommandTypeOf[create]("create", 1)},
			Queries:  []app.QueryType{app.QueryTypeOf[title]("title"), app.QueryTypeOf[list]("list")},
		},
		Register: func(s *mcp.Server, a *app.App) error {
			return errors.Join(
				mcp.AddTool(s, mcp.Tool{Name: "posts_create"}, appmcp.Do[create](a)),
				mcp.AddTool(s, mcp.Tool{Name: "posts_title"}, appmcp.Query[title](a)),
				mcp.AddTool(s, mcp.Tool{Name: "posts_list", OutputSchema: json.RawMessage(`{"type":"array","items":{"type":"string"}}`)}, appmcp.Query[list](a)),
			)
		},
	}
}

func TestTools(t *testing.T) {
	client := apptest.Serve(t, posts())
	for _, example := range []struct {
		tool string
		mcptest.Example
	}{
		{"posts_list", mcptest.Example{Input: `{}`, Output: `[]`}},
		{"posts_create", mcptest.Example{Input: `{"title":"one"}`, Output: `{"id":"id1","time":"2026-01-01T00:00:00Z"}`}},
		{"posts_create", mcptest.Example{Input: `{"title":"one"}`, Error: `there is a post "one" already`}},
		{"posts_create", mcptest.Example{Input: `{"title":7}`, Error: "invalid arguments"}},
		{"posts_create", mcptest.Example{Input: `{"title":"two"}`, Output: `{"id":"id2","time":"2026-01-01T00:00:01Z"}`}},
		{"posts_list", mcptest.Example{Input: `{}`, Output: `["one","two"]`}},
		{"posts_title", mcptest.Example{Input: `{"id":"id3"}`, Error: "there is no post id3"}},
	} {
		client.CheckTool(t, example.tool, example.Example)
	}
	if got := client.CallTool("posts_title", map[string]any{"id": "id2"}); len(got.Content) != 1 || got.Text() != "two" {
		t.Errorf(`posts_title returns %+v, want one content block with "two"`, got)
	}
}

// Other tools of the server use the features too, in every revision, and see what clients have
// done.
func TestOtherTools(t *testing.T) {
	client := apptest.Serve(t, posts())
	client.Register(func(s *mcp.Server) error {
		return mcp.AddTool(s, mcp.Tool{Name: "twice"}, func(ctx context.Context, in create) (string, error) {
			for _, title := range []string{in.Title, in.Title + " again"} {
				if _, err := app.Do(ctx, create{title}); err != nil {
					return "", err
				}
			}
			all, err := app.Query(ctx, list{})
			return strings.Join(all, ", "), err
		})
	})
	client.Given("posts_create", `{"title":"zero"}`)
	for _, revision := range []mcp.Revision{mcp.LatestHandshake, mcp.Latest} {
		other := client.Connect(mcptest.Options{Revision: revision})
		if got := other.CallTool("twice", create{string(revision)}).Text(); !strings.HasSuffix(got, fmt.Sprintf("%s, %[1]s again, zero", revision)) {
			t.Errorf("in revision %s: got %s, want it to end with %q", revision, got, fmt.Sprintf("%s, %[1]s again, zero", revision))
		}
	}
	if got := client.CallTool("twice", create{"zero"}); !got.IsError || !strings.Contains(got.Text(), "already") {
		t.Errorf(`the refused command returns %+v, want an error with "already" in it`, got)
	}
}

func TestKey(t *testing.T) {
	client := apptest.Serve(t, posts())
	call := func(key any) (string, error) {
		var result mcp.ToolResult
		err := client.Call("tools/call", map[string]any{
			"name": "posts_create", "arguments": map[string]any{"title": "one"}, "_meta": map[string]any{"idempotencyKey": key},
		}, &result)
		return result.Text(), err
	}
	first, err := call("k1")
	if err != nil || !strings.Contains(first, `"id1"`) {
		t.Fatalf("the first: got %s, %v; want %q in it, and no error", first, err, `"id1"`)
	}
	if again, err := call("k1"); err != nil || again != first {
		t.Errorf("the second: got %s, %v; want %s and no error", again, err, first)
	}
	if other, err := call("k2"); err != nil || !strings.Contains(other, "already") {
		t.Errorf(`another key: got %s, %v; want "already" in it, and no error`, other, err)
	}
	for _, key := range []any{7, nil, "", []string{"k1"}} {
		if _, err := call(key); !errors.Is(err, jsonrpc.InvalidParams) || !strings.Contains(err.Error(), "_meta.idempotencyKey") {
			t.Errorf("the key %v: got %v, want jsonrpc.InvalidParams with _meta.idempotencyKey in it", key, err)
		}
	}
	if page := readLog(t, client, "app://log"); len(page.Events) != 1 {
		t.Errorf("the log has %+v, want one event", page.Events)
	}
}

// A page is the content of app://log.
type page struct {
	Events []eventlog.Record
	Last   int64
	Next   string
}

func readLog(t *testing.T, client *apptest.Client, uri string) (p page) {
	t.Helper()
	contents := client.ReadResource(uri)
	if len(contents) != 1 || contents[0].MIMEType != "application/json" {
		t.Fatalf("%s is %+v, want one part of the type application/json", uri, contents)
	}
	if err := json.Unmarshal([]byte(contents[0].Text), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLog(t *testing.T) {
	client := apptest.Serve(t, posts())
	if p := readLog(t, client, "app://log"); p.Events == nil || len(p.Events) != 0 || p.Last != 0 || p.Next != "app://log?after=0" {
		t.Errorf("the empty log is %+v, want an empty list of events, last 0 and next app://log?after=0", p)
	}
	for i := range 130 {
		client.Given("posts_create", fmt.Sprintf(`{"title":"post %d"}`, i))
	}
	for _, test := range []struct {
		uri         string
		first, last int64
		next        string
	}{
		{"app://log", 1, 100, "app://log?after=100"},
		{"app://log?after=100", 101, 130, "app://log?after=130"},
		{"app://log?after=7&limit=3", 8, 10, "app://log?after=10&limit=3"},
		{"app://log?limit=1000", 1, 130, "app://log?after=130&limit=1000"},
	} {
		p := readLog(t, client, test.uri)
		if n := len(p.Events); n == 0 || p.Events[0].Seq != test.first || p.Events[n-1].Seq != test.last || p.Last != 130 || p.Next != test.next {
			t.Errorf("%s has %d events, of %d, and next is %s; want events %d to %d, of 130, and next %s", test.uri, n, p.Last, p.Next, test.first, test.last, test.next)
		}
	}
	if event := readLog(t, client, "app://log?after=129").Events[0]; event.Type != "posts/create" || event.Version != 1 || string(event.Data) != `{"title":"post 129"}` || event.ID != "id130" {
		t.Errorf(`the last event is %+v, want Type "posts/create", Version 1, Data %q, ID "id130"`, event, `{"title":"post 129"}`)
	}
	for uri, want := range map[string]string{
		"app://log?after=x":           `after must be an integer of at least 0, got "x"`,
		"app://log?after=-1":          "after must be an integer of at least 0",
		"app://log?limit=0":           "limit must be an integer from 1 to 1000",
		"app://log?limit=1001":        "limit must be an integer from 1 to 1000",
		"app://log?limit=":            "limit must be an integer from 1 to 1000",
		"app://log?aftr=3":            "the parameters are after and limit",
		"app://log?after=3&after=999": "unknown or repeated parameter in",
	} {
		err := client.Call("resources/read", map[string]any{"uri": uri}, nil)
		if !errors.Is(err, jsonrpc.InvalidParams) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want jsonrpc.InvalidParams with %q in it", uri, err, want)
		}
	}
}

// A page of big events has fewer of them.
func TestBigLog(t *testing.T) {
	client := apptest.Serve(t, posts())
	for i := range 5 {
		client.Given("posts_create", fmt.Sprintf(`{"title":"%d%s"}`, i, strings.Repeat("x", 400_000)))
	}
	if p := readLog(t, client, "app://log"); len(p.Events) != 3 || p.Last != 5 || p.Next != "app://log?after=3" {
		t.Errorf("the page has %d events, last %d, next %s; want 3, 5 and app://log?after=3", len(p.Events), p.Last, p.Next)
	}
}

func TestResources(t *testing.T) {
	client := apptest.Serve(t, posts())
	client.Given("posts_create", `{"title":"one"}`)
	var listed []string
	for _, r := range client.Resources() {
		listed = append(listed, r.URI)
	}
	if got := strings.Join(listed, " "); got != "app://features app://log app://workers" {
		t.Errorf("the resources are %s, want \"app://features app://log app://workers\"", got)
	}
	if templates := client.ResourceTemplates(); len(templates) != 1 || templates[0].URITemplate != "app://log{?after,limit}" {
		t.Errorf("the templates are %+v, want app://log{?after,limit}", templates)
	}
	var features app.Status
	if err := json.Unmarshal([]byte(client.ReadResource("app://features")[0].Text), &features); err != nil {
		t.Fatal(err)
	}
	if features.Seq != 1 || len(features.Features) != 1 || features.Features[0].Name != "posts" || strings.Join(features.Features[0].Commands, " ") != "create" {
		t.Errorf("the features are %+v, want posts with the command create, at event 1", features)
	}
	if text := client.ReadResource("app://workers")[0].Text; text != `{"workers":[]}` {
		t.Errorf("the workers are %s, want %q", text, `{"workers":[]}`)
	}
}

// Clients that have subscribed to a page of the log, in any revision, are notified when the log
// grows.
func TestUpdates(t *testing.T) {
	client := apptest.Serve(t, posts())
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { client.App.Run(ctx) })
	defer running.Wait()
	defer stop()
	want := []string{"app://features", "app://log?after=0"}
	for _, uri := range want {
		if err := client.Call("resources/subscribe", map[string]any{"uri": uri}, nil); err != nil {
			t.Fatal(err)
		}
	}
	watched := make(chan struct{})
	client.App.Watch(sync.OnceFunc(func() { close(watched) }))
	for i, runs := 0, false; !runs; i++ { // which may take a moment
		client.Given("posts_create", fmt.Sprintf(`{"title":"post %d"}`, i))
		select {
		case <-watched:
			runs = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	for _, uri := range want {
		if told := client.Next("notifications/resources/updated"); !strings.Contains(string(told.Params), `"`+uri+`"`) {
			t.Errorf("notified of %s, want %s", told.Params, uri)
		}
	}
}

// as calls a server over HTTP with a token, in the stateless revision, and returns the status and
// the answer.
func as(t *testing.T, s *mcp.Server, id *auth.Identity, method, name, params string) (int, string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `,"_meta":{` + mine + `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	r := httptest.NewRequestWithContext(auth.With(t.Context(), id), http.MethodPost, "/mcp", strings.NewReader(body))
	for header, value := range map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name} {
		r.Header.Set(header, value)
	}
	answer := httptest.NewRecorder()
	mcphttp.NewHandler(s, mcphttp.Options{}).ServeHTTP(answer, r)
	return answer.Code, answer.Body.String()
}

// mine is the idempotency key that every client of these tests uses.
const mine = `"idempotencyKey":"1",`

// newServer returns a server with a feature whose tools need scopes.
func newServer(t *testing.T, o appmcp.Options) *mcp.Server {
	t.Helper()
	store, feature := eventlog.NewMemory(), posts()
	a, err := app.Open(t.Context(), store, app.Options{Program: "test", Fingerprint: func(string) string { return "test" }}, feature.Feature)
	if err != nil {
		t.Fatal(err)
	}
	feature.Register = func(s *mcp.Server, a *app.App) error {
		return errors.Join(
			mcp.AddTool(s, mcp.Tool{Name: "posts_create", Scopes: []string{"posts:write"}}, appmcp.Do[create](a)),
			mcp.AddTool(s, mcp.Tool{Name: "posts_title", Scopes: []string{"posts:read"}}, appmcp.Query[title](a)),
		)
	}
	s := mcp.NewServer(mcp.Implementation{Name: "test", Version: "1"}, mcp.Options{})
	other := mcp.AddTool(s, mcp.Tool{Name: "mail", Scopes: []string{"mail:send"}}, func(context.Context, struct{}) (string, error) { return "", nil })
	if err := errors.Join(other, appmcp.Register(s, a, o, feature)); err != nil {
		t.Fatal(err)
	}
	return s
}

// Callers without the scopes of all commands and queries cannot read the log.
func TestScopes(t *testing.T) {
	s := newServer(t, appmcp.Options{RemoteResources: true})
	all := &auth.Identity{Issuer: "i", Subject: "ann", Scopes: []string{"posts:write", "posts:read"}}
	if status, text := as(t, s, all, "tools/call", "posts_create", `"name":"posts_create","arguments":{"title":"secret"}`); status != http.StatusOK || strings.Contains(text, "isError") {
		t.Fatalf(`a command: got %d %s, want %d and no "isError"`, status, text, http.StatusOK)
	}
	for _, test := range []struct {
		id     *auth.Identity
		uri    string
		status int
	}{
		{&auth.Identity{Issuer: "i", Subject: "eve"}, "app://log", http.StatusForbidden},
		{&auth.Identity{Issuer: "i", Subject: "eve"}, "app://log?after=0", http.StatusForbidden},
		{&auth.Identity{Issuer: "i", Subject: "eve"}, "app://workers", http.StatusForbidden},
		{&auth.Identity{Issuer: "i", Subject: "eve"}, "app://features", http.StatusOK},
		{&auth.Identity{Issuer: "i", Subject: "eve", Scopes: []string{"posts:write"}}, "app://log", http.StatusForbidden},
		{&auth.Identity{Subject: "key-1", AllScopes: true}, "app://log", http.StatusOK},
		{all, "app://log", http.StatusOK},
		{all, "app://log?after=0", http.StatusOK},
		{nil, "app://log", http.StatusOK},
	} {
		status, text := as(t, s, test.id, "resources/read", test.uri, `"uri":"`+test.uri+`"`)
		if status != test.status || status != http.StatusOK && strings.Contains(text, "secret") {
			t.Errorf("%+v reads %s: %d %s, want %v", test.id, test.uri, status, text, test.status)
		}
	}
}

// Two callers that choose the same key do not see each other's results. Errors name the key that
// the caller chose.
func TestKeysOfCallers(t *testing.T) {
	s := newServer(t, appmcp.Options{})
	write := func(name, title string) string {
		id := &auth.Identity{Issuer: "i", Subject: name, Scopes: []string{"posts:write"}}
		_, text := as(t, s, id, "tools/call", "posts_create", `"name":"posts_create","arguments":{"title":"`+title+`"}`)
		return text
	}
	first := write("ann", "one")
	if again := write("ann", "one"); again != first {
		t.Errorf("the repeated call of the same caller returns %s, want %s", again, first)
	}
	if other := write("eve", "one"); !strings.Contains(other, "already") {
		t.Errorf("another caller has %s, want \"already\" in it", other)
	}
	if wrong := write("ann", "two"); !strings.Contains(wrong, `idempotency key \"1\" was used for another command`) {
		t.Errorf("another command with the key: got %s, want %q in it", wrong, `idempotency key \"1\" was used for another command`)
	}
}

// If a feature meets an event of a newer build, its commands fail, the results of its queries are
// marked as stale, and the features resource names it. The log can still be read.
func TestNewerEvent(t *testing.T) {
	store := eventlog.NewMemory()
	a, err := app.Open(t.Context(), store, app.Options{Program: "hello", OnStale: appmcp.OnStale}, posts().Feature)
	if err != nil {
		t.Fatal(err)
	}
	client := mcptest.Serve(t, func(s *mcp.Server) error { return appmcp.Register(s, a, appmcp.Options{}, posts()) })
	client.CallTool("posts_create", map[string]string{"title": "first"})
	if result := client.CallTool("posts_list", nil); result.Meta["petrock/stale"] != nil {
		t.Errorf(`posts_list returns the _meta %v, want no "petrock/stale"`, result.Meta)
	}
	err = store.Share().Write(t.Context(), func(tx eventlog.Tx) error {
		return tx.Append(eventlog.Record{Seq: 2, ID: "a", Type: "posts/create", Version: 1, Data: json.RawMessage(`{"title":"a","draft":true}`)})
	})
	if err != nil {
		t.Fatal(err)
	}
	const says = "the event log is newer than this process; restart it"
	result := client.CallTool("posts_create", map[string]string{"title": "b"})
	if text := result.Text(); !result.IsError || !strings.HasPrefix(text, says) || !strings.Contains(text, `field "draft" is unknown`) || !strings.Contains(text, "hello log show 2") {
		t.Errorf("posts_create returns %s (error: %t), want an error that starts with %q and contains %q and hello log show 2", text, result.IsError, says, `field "draft" is unknown`)
	}
	result = client.CallTool("posts_list", nil)
	meta, err := json.Marshal(result.Meta["petrock/stale"])
	if want := `{"event":2,"reason":"this server cannot read event 2 (posts/create, version 1)"}`; result.IsError || !strings.Contains(result.Text(), "first") || err != nil || string(meta) != want {
		t.Errorf("posts_list returns %s (error: %t), marked with %s, %v; want the first post, marked with %s", result.Text(), result.IsError, meta, err, want)
	}
	if text := client.ReadResource("app://features")[0].Text; !strings.Contains(text, `"stuck":"`+says) || !strings.Contains(text, `"stale":true`) {
		t.Errorf("the features are %s, want %q and %q in it", text, `"stuck":"`+says, `"stale":true`)
	}
	if text := client.ReadResource("app://log")[0].Text; !strings.Contains(text, `"draft":true`) {
		t.Errorf("the log is %s, want %q in it", text, `"draft":true`)
	}
}

// The log records the caller and the request of each call, without arguments.
func TestActors(t *testing.T) {
	store := eventlog.NewMemory()
	a, err := app.Open(t.Context(), store, app.Options{Program: "test", Fingerprint: func(string) string { return "test" }, Actor: appmcp.Actor, Cause: appmcp.Cause}, posts().Feature)
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer(mcp.Implementation{Name: "test", Version: "1"}, mcp.Options{})
	if err := appmcp.Register(s, a, appmcp.Options{}, posts()); err != nil {
		t.Fatal(err)
	}
	client := mcptest.Connect(t, s)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if err := client.Call("tools/call", json.RawMessage(`{"name":"posts_create","arguments":{"title":"one"},"_meta":{"traceparent":"`+trace+`"}}`), nil); err != nil {
		t.Fatal(err)
	}
	client.As(&auth.Identity{Subject: "ada", Issuer: "i"}).CallTool("posts_create", map[string]string{"title": "two"})
	for i, id := range []*auth.Identity{nil, {Subject: "key-1", AllScopes: true}, {Issuer: "i", Subject: "ada", Client: "app"}} {
		if status, text := as(t, s, id, "tools/call", "posts_create", fmt.Sprintf(`"name":"posts_create","arguments":{"title":"%d"}`, i)); status != http.StatusOK {
			t.Fatalf("posts_create returns the status %d: %s; want 200", status, text)
		}
	}
	local, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	var actors []string
	requests := map[string]bool{}
	for r, err := range store.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		actors = append(actors, r.Actor)
		var cause eventlog.Cause
		if err := json.Unmarshal(r.Cause, &cause); err != nil || cause.Request == "" || requests[cause.Request] || cause.Tool != "posts_create" || (cause.Traceparent == trace) != (r.Seq == 1) || strings.Contains(string(r.Cause), "title") {
			t.Errorf("the cause of event %d is %s (%v); want a request id of its own, the tool posts_create, the trace %s: %t, and no title", r.Seq, r.Cause, err, trace, r.Seq == 1)
		}
		requests[cause.Request] = true
	}
	if got, want := strings.Join(actors, " "), "local:"+local.Username+" ada anonymous key-1 ada"; got != want {
		t.Errorf("the actors are %s, want %s", got, want)
	}
	if text := client.ReadResource("app://log?after=1&limit=1")[0].Text; !strings.Contains(text, `"actor":"ada"`) {
		t.Errorf("the log is %s, want %q in it", text, `"actor":"ada"`)
	}
}

// A ledger has the authors of payments that are not approved yet.
type ledger struct{ Authors map[string]string }

type pay struct{}

func (pay) Check(context.Context, *ledger) error { return nil }

func (pay) Apply(s *ledger, e app.Event) string {
	s.Authors[e.ID] = e.Actor
	return e.ID
}

type approve struct {
	ID string `json:"id"`
}

func (c approve) Check(ctx context.Context, s *ledger) error {
	if s.Authors[c.ID] == app.Actor(ctx) {
		return errors.New("another person must approve it")
	}
	return nil
}

func (c approve) Apply(s *ledger, e app.Event) string {
	delete(s.Authors, c.ID)
	return e.Actor
}

// A rule that needs two persons is not passed by one person with an old and a new key.
func TestTwoPersons(t *testing.T) {
	const oldKey, newKey, otherKey = "0123456789abcdef", "fedcba9876543210", "0011223344556677"
	gate, err := auth.Keys("test", []string{"alice=" + oldKey, "alice=" + newKey, "bob=" + otherKey})
	if err != nil {
		t.Fatal(err)
	}
	client := apptest.Serve(t, appmcp.Feature{
		Feature: app.Feature{
			Name:     "payments",
			State:    app.StateOf(func() *ledger { return &ledger{map[string]string{}} }),
			Commands: []app.CommandType{app.CommandTypeOf[pay]("pay", 1), app.CommandTypeOf[approve]("approve", 1)},
		},
		Register: func(s *mcp.Server, a *app.App) error {
			return errors.Join(mcp.AddTool(s, mcp.Tool{Name: "pay"}, appmcp.Do[pay](a)), mcp.AddTool(s, mcp.Tool{Name: "approve"}, appmcp.Do[approve](a)))
		},
	})
	with := func(key string) *mcptest.Client {
		id, err := gate.Authenticate(&http.Request{Header: http.Header{"X-Api-Token": {key}}})
		if err != nil {
			t.Fatal(err)
		}
		return client.As(id)
	}
	with(oldKey).CheckTool(t, "pay", mcptest.Example{Input: `{}`, Output: "id1"})
	with(newKey).CheckTool(t, "approve", mcptest.Example{Input: `{"id":"id1"}`, Error: "another person must approve it"})
	with(otherKey).CheckTool(t, "approve", mcptest.Example{Input: `{"id":"id1"}`, Output: "bob"})
}

// ActorOf replaces the local user, and nobody else.
func TestActorOf(t *testing.T) {
	store := eventlog.NewMemory()
	a, err := app.Open(t.Context(), store, app.Options{Program: "test", Fingerprint: func(string) string { return "test" }, Actor: appmcp.ActorOf("local:bob")}, posts().Feature)
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer(mcp.Implementation{Name: "test", Version: "1"}, mcp.Options{})
	if err := appmcp.Register(s, a, appmcp.Options{}, posts()); err != nil {
		t.Fatal(err)
	}
	mcptest.Connect(t, s).CallTool("posts_create", map[string]string{"title": "one"})
	for i, id := range []*auth.Identity{nil, {Issuer: "i", Subject: "ada"}} {
		if status, text := as(t, s, id, "tools/call", "posts_create", fmt.Sprintf(`"name":"posts_create","arguments":{"title":"%d"}`, i)); status != http.StatusOK {
			t.Fatalf("posts_create returns the status %d: %s; want 200", status, text)
		}
	}
	var actors []string
	for r, err := range store.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		actors = append(actors, r.Actor)
	}
	if want := []string{"local:bob", "anonymous", "ada"}; !slices.Equal(actors, want) {
		t.Errorf("the actors are %v, want %v", actors, want)
	}
}
