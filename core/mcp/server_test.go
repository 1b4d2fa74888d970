package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcptest"
)

func quietLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newServer(o mcp.Options) *mcp.Server {
	if o.Logger == nil {
		o.Logger = quietLogger()
	}
	return mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, o)
}

// A server does not declare a kind that it has no components of, and its methods are unknown.
func TestOnlyOfferedMethods(t *testing.T) {
	prompt := func(schema string) func(*mcp.Server) error {
		return func(s *mcp.Server) error {
			return s.AddPrompt(mcp.Prompt{
				Name: "p", Arguments: []mcp.PromptArgument{{Name: "a"}}, InputSchema: json.RawMessage(`{"type":"object","properties":{"a":` + schema + `}}`),
			}, func(context.Context, map[string]string) (*mcp.PromptResult, error) { return nil, nil })
		}
	}
	tests := []struct {
		name    string
		options mcp.Options
		fill    func(*mcp.Server) error
		want    []string // capabilities
		refused []string // methods
	}{
		{"nothing", mcp.Options{}, nil, []string{"logging"}, []string{"tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get", "completion/complete"}},
		{"a tool", mcp.Options{}, func(s *mcp.Server) error { return s.AddTool(mcp.Tool{Name: "t"}, fixture.Nothing) }, []string{"logging", "tools"}, []string{"resources/list", "prompts/list", "completion/complete"}},
		{"a prompt with choices", mcp.Options{}, prompt(`{"enum":["x"]}`), []string{"logging", "prompts", "completions"}, []string{"tools/list"}},
		{"a prompt without", mcp.Options{}, prompt(`{"minLength":1}`), []string{"logging", "prompts"}, []string{"completion/complete"}},
		{"to come", mcp.Options{Tools: true, Resources: true, Prompts: true}, nil, []string{"logging", "tools", "resources", "prompts"}, []string{"completion/complete"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(test.options)
			if test.fill != nil {
				if err := test.fill(s); err != nil {
					t.Fatal(err)
				}
			}
			c := mcptest.Connect(t, s)
			if len(c.Capabilities) != len(test.want) {
				t.Errorf("capabilities = %s, want %q", c.Capabilities, test.want)
			}
			for _, name := range test.want {
				if !c.Capabilities.Has(name) {
					t.Errorf("the capability %s is not declared in %v, want it", name, c.Capabilities)
				}
			}
			for _, method := range test.refused {
				if err := c.Call(method, nil, nil); !errors.Is(err, jsonrpc.MethodNotFound) {
					t.Errorf("%s: got %v, want %v", method, err, jsonrpc.MethodNotFound)
				}
			}
		})
	}
}

func TestAddRefuses(t *testing.T) {
	read := func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) { return nil, nil }
	get := func(context.Context, map[string]string) (*mcp.PromptResult, error) { return nil, nil }
	tests := []struct {
		name string
		add  func(*mcp.Server) error
		want string
	}{
		{"no name", func(s *mcp.Server) error { return s.AddTool(mcp.Tool{}, fixture.Nothing) }, `add tool : name must have 1 to 128 characters, got 0`},
		{"long name", func(s *mcp.Server) error { return s.AddTool(mcp.Tool{Name: strings.Repeat("x", 129)}, fixture.Nothing) }, "name must have 1 to 128 characters, got 129"},
		{"odd name", func(s *mcp.Server) error { return s.AddTool(mcp.Tool{Name: "a/b"}, fixture.Nothing) }, `add tool a/b: name must consist of letters, digits, '_', '-' and '.', got '/'`},
		{"no handler", func(s *mcp.Server) error { return s.AddTool(mcp.Tool{Name: "a"}, nil) }, `add tool a: has no handler`},
		{"broken schema", func(s *mcp.Server) error {
			return s.AddTool(mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object","required":"x"}`)}, fixture.Nothing)
		}, `add tool a: input schema: `},
		{"schema of no object", func(s *mcp.Server) error {
			return s.AddTool(mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"string"}`)}, fixture.Nothing)
		}, `add tool a: input schema: must have "type":"object" at its root`},
		{"broken output schema", func(s *mcp.Server) error {
			return s.AddTool(mcp.Tool{Name: "a", OutputSchema: json.RawMessage(`{"type":"objekt"}`)}, fixture.Nothing)
		}, `add tool a: output schema: `},
		{"what cannot be sent", func(s *mcp.Server) error {
			return s.AddTool(mcp.Tool{Name: "a", Meta: mcp.Meta{"f": func() {}}}, fixture.Nothing)
		}, `add tool a: cannot be sent to clients: json: unsupported type: func()`},
		{"the same tool twice", func(s *mcp.Server) error {
			return errors.Join(s.AddTool(mcp.Tool{Name: "a"}, fixture.Nothing), s.AddTool(mcp.Tool{Name: "a"}, fixture.Nothing))
		}, `add tool a: already exists; remove it first to replace it`},
		{"resource without scheme", func(s *mcp.Server) error { return s.AddResource(mcp.Resource{URI: "x", Name: "x"}, read) }, `add resource x: URI: must begin with a scheme`},
		{"resource with a broken address", func(s *mcp.Server) error { return s.AddResource(mcp.Resource{URI: "a://%zz", Name: "x"}, read) }, `add resource a://%zz: URI: `},
		{"resource without name", func(s *mcp.Server) error { return s.AddResource(mcp.Resource{URI: "a://x"}, read) }, `add resource a://x: has no name`},
		{"resource without handler", func(s *mcp.Server) error { return s.AddResource(mcp.Resource{URI: "a://x", Name: "x"}, nil) }, `add resource a://x: has no handler`},
		{"template without variable", func(s *mcp.Server) error {
			return s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "a://x", Name: "x"}, read)
		}, "has no variable such as {id}"},
		{"template without name", func(s *mcp.Server) error {
			return s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "a://{x}"}, read)
		}, "has no name"},
		{"template with a broken schema", func(s *mcp.Server) error {
			return s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "a://{x}", Name: "x", InputSchema: json.RawMessage(`{"type":"object","required":"x"}`)}, read)
		}, `add resource template a://{x}: input schema: required: `},
		{"prompt with a broken schema", func(s *mcp.Server) error {
			return s.AddPrompt(mcp.Prompt{Name: "p", InputSchema: json.RawMessage(`{`)}, get)
		}, `add prompt p: input schema: `},
		{"prompt with a schema of no object", func(s *mcp.Server) error {
			return s.AddPrompt(mcp.Prompt{Name: "p", InputSchema: json.RawMessage(`{"type":"string"}`)}, get)
		}, `add prompt p: input schema: must have "type":"object" at its root`},
		{"prompt without handler", func(s *mcp.Server) error { return s.AddPrompt(mcp.Prompt{Name: "p"}, nil) }, `add prompt p: has no handler`},
		{"prompt with a nameless argument", func(s *mcp.Server) error {
			return s.AddPrompt(mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a"}, {}}}, get)
		}, `add prompt p: argument 2 has no name`},
		{"prompt with an argument twice", func(s *mcp.Server) error {
			return s.AddPrompt(mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a"}, {Name: "a"}}}, get)
		}, `add prompt p: duplicate argument "a"`},
		{"completing no prompt", func(s *mcp.Server) error { return s.CompletePrompt("p", nil) }, `set completer: unknown prompt "p"`},
		{"completing no template", func(s *mcp.Server) error { return s.CompleteResource("a://{x}", nil) }, `set completer: unknown resource template "a://{x}"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := test.add(newServer(mcp.Options{})); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v\nwant   %s", err, test.want)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	s := fixture.New(t, mcp.Options{Logger: quietLogger()})
	for _, test := range []struct {
		call string
		got  bool
		want bool
	}{
		{`RemoveTool("add")`, s.RemoveTool("add"), true},
		{`RemoveTool("add") again`, s.RemoveTool("add"), false},
		{`RemoveResource("note://logo")`, s.RemoveResource("note://logo"), true},
		{`RemoveResource("note://logo") again`, s.RemoveResource("note://logo"), false},
		{`RemoveResourceTemplate("note://by-id/{id}{?page}")`, s.RemoveResourceTemplate("note://by-id/{id}{?page}"), true},
		{`RemoveResourceTemplate("x")`, s.RemoveResourceTemplate("x"), false},
		{`RemovePrompt("plain")`, s.RemovePrompt("plain"), true},
		{`RemovePrompt("plain") again`, s.RemovePrompt("plain"), false},
	} {
		if test.got != test.want {
			t.Errorf("%s = %t, want %t", test.call, test.got, test.want)
		}
	}

	if err := mcp.AddTool(s, fixture.AddTool(), fixture.Add); err != nil {
		t.Errorf("adding again what was removed: %v", err)
	}
	c := mcptest.Connect(t, s)
	if err := c.Call("resources/read", map[string]any{"uri": "note://by-id/1"}, nil); !errors.Is(err, mcp.ResourceNotFound) {
		t.Errorf("reading a removed resource: got %v, want %v", err, mcp.ResourceNotFound)
	}
}

// Clients see names with the prefix; the functions of a server take names without it.
func TestNamePrefix(t *testing.T) {
	s := newServer(mcp.Options{NamePrefix: "git_"})
	text := func(context.Context, struct{}) (string, error) { return "done", nil }
	prompt := func(context.Context, map[string]string) (*mcp.PromptResult, error) { return &mcp.PromptResult{}, nil }
	complete := func(context.Context, string, string, map[string]string) ([]string, error) { return nil, nil }
	err := errors.Join(
		s.AddTool(mcp.Tool{Name: "log"}, fixture.Nothing), mcp.AddTool(s, mcp.Tool{Name: "show"}, text), s.AddTool(mcp.Tool{Name: "old"}, fixture.Nothing),
		s.AddPrompt(mcp.Prompt{Name: "review"}, prompt), mcp.AddPrompt(s, mcp.Prompt{Name: "sum"}, text), s.AddPrompt(mcp.Prompt{Name: "old"}, prompt),
		s.CompletePrompt("review", complete),
	)
	if err != nil {
		t.Fatal(err)
	}
	if tool, prompt := s.RemoveTool("old"), s.RemovePrompt("old"); !tool || !prompt {
		t.Fatalf("RemoveTool(old) = %t, RemovePrompt(old) = %t; want true and true", tool, prompt)
	}
	client := mcptest.Connect(t, s)
	var names []string
	for _, tool := range client.Tools() {
		names = append(names, tool.Name)
	}
	for _, p := range client.Prompts() {
		names = append(names, p.Name)
	}
	if got, want := strings.Join(names, " "), "git_log git_show git_review git_sum"; got != want {
		t.Errorf("the names are %s, want %s", got, want)
	}
	if result := client.CallTool("git_show", nil); result.IsError {
		t.Errorf("git_show returns the error %s, want success", result.Text())
	}
}

// The contexts of all calls have the provided values in addition to their own.
func TestProvide(t *testing.T) {
	type key string
	hook := func(ctx context.Context, _ *mcp.Call, next func(context.Context) (any, error)) (any, error) {
		return next(context.WithValue(ctx, key("b"), "of the hook"))
	}
	s := newServer(mcp.Options{Hook: hook})
	err := s.AddTool(mcp.Tool{Name: "look"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		return mcp.TextResult(fmt.Sprint(ctx.Value(key("a")), ", ", ctx.Value(key("b")), ", ", ctx.Value(key("c")), ", ", mcp.CallFrom(ctx).Target)), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, revision := range []mcp.Revision{mcp.LatestHandshake, mcp.Latest} {
		c := mcptest.ConnectWith(t, s, mcptest.Options{Revision: revision})
		for _, name := range []key{"a", "b", "a"} {
			s.Provide(func(ctx context.Context) context.Context {
				return context.WithValue(ctx, name, fmt.Sprintf("%v and %s", ctx.Value(name), revision))
			})
		}
		if got := c.CallTool("look", nil).Text(); !strings.Contains(got, " and "+string(revision)+", of the hook, <nil>, look") {
			t.Errorf("in revision %s: got %q, want it to contain %q", revision, got, " and "+string(revision)+", of the hook, <nil>, look")
		}
	}
}

// The hook sees every call and its result, and can add values to the context.
func TestHook(t *testing.T) {
	type key struct{}
	var mu sync.Mutex
	var seen []string
	s := newServer(mcp.Options{Hook: func(ctx context.Context, call *mcp.Call, next func(context.Context) (any, error)) (any, error) {
		if call.Target == "forbidden" {
			return nil, jsonrpc.Errorf(-7, "not you, %s", call.Client().Name)
		}
		result, err := next(context.WithValue(ctx, key{}, "from the hook"))
		mu.Lock()
		defer mu.Unlock()
		outcome := "ok"
		if err != nil {
			outcome = err.Error()
		}
		seen = append(seen, strings.Join([]string{call.Method, call.Target, string(call.Revision), outcome}, "|"))
		return result, err
	}})
	add := func(name string, h mcp.ToolHandler) {
		if err := s.AddTool(mcp.Tool{Name: name}, h); err != nil {
			t.Fatal(err)
		}
	}
	add("forbidden", fixture.Nothing)
	add("asks", func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		return mcp.TextResult(ctx.Value(key{}).(string) + " " + mcp.CallFrom(ctx).Target + " " + string(mcp.CallFrom(ctx).Meta)), nil
	})
	c := mcptest.Connect(t, s)
	var result mcp.ToolResult
	if err := c.Call("tools/call", map[string]any{"name": "asks", "_meta": map[string]any{"x": 1}}, &result); err != nil || result.Text() != `from the hook asks {"x":1}` {
		t.Errorf(`the tool returned %q, %v; want no error and Text "from the hook asks {\"x\":1}"`, result.Text(), err)
	}
	if err := c.Call("tools/call", map[string]any{"name": "forbidden"}, nil); !errors.Is(err, jsonrpc.Code(-7)) || err.Error() != "not you, mcptest" {
		t.Errorf(`a call that the hook refuses gives %v, want the code -7 and "not you, mcptest"`, err)
	}
	if err := c.Call("tools/call", map[string]any{"name": "forbidden", "uri": "harmless", "_meta": map[string]any{"name": "harmless"}}, nil); !errors.Is(err, jsonrpc.Code(-7)) {
		t.Errorf("with a harmless uri and _meta.name: got %v, want %v", err, jsonrpc.Code(-7))
	}
	c.Call("tools/call", map[string]any{"name": "nobody"}, nil)
	c.Call("no/such/method", nil, nil)
	c.Call("ping", nil, nil)
	c.Tools()
	want := []string{
		"initialize|||ok",
		"tools/call|asks|2025-11-25|ok",
		`tools/call|nobody|2025-11-25|unknown tool "nobody"; see tools/list`,
		`no/such/method||2025-11-25|unknown method "no/such/method"`,
		"ping||2025-11-25|ok",
		"tools/list||2025-11-25|ok",
	}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("the hook saw\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
}

// The result of a hook is rendered like that of a handler.
// Which errors of a tool fail the request, and which become results.
func TestToolErrors(t *testing.T) {
	lost := jsonrpc.Errorf(-7, "unknown tool")
	for name, test := range map[string]struct {
		err  error
		code jsonrpc.Code // 0 for a result
	}{
		"error response":         {lost, -7},
		"wrapped code":           {fmt.Errorf("not these: %w", jsonrpc.InvalidParams), jsonrpc.InvalidParams},
		"scopes":                 {fmt.Errorf("read: %w", &mcp.ScopeError{Needed: []string{"a"}}), jsonrpc.InvalidRequest},
		"wrapped error response": {fmt.Errorf("weather service: %w; try again", lost), 0},
		"error":                  {errors.New("no"), 0},
	} {
		client := mcptest.Serve(t, func(s *mcp.Server) error {
			return s.AddTool(mcp.Tool{Name: "fail"}, func(context.Context, json.RawMessage) (*mcp.ToolResult, error) { return nil, test.err })
		})
		var result mcp.ToolResult
		err := client.Call("tools/call", map[string]any{"name": "fail"}, &result)
		switch {
		case test.code != 0 && !errors.Is(err, test.code):
			t.Errorf("%s: got %v, want an error with the code %d", name, err, test.code)
		case test.code == 0 && (err != nil || !result.IsError || result.Text() != test.err.Error()):
			t.Errorf("%s: got %q, %v; want a result with the text %q", name, result.Text(), err, test.err)
		}
	}
}

func TestHookAnswers(t *testing.T) {
	var targets []string
	s := fixture.New(t, mcp.Options{Logger: quietLogger(), Hook: func(ctx context.Context, call *mcp.Call, next func(context.Context) (any, error)) (any, error) {
		if call.Target != "" {
			targets = append(targets, call.Target)
		}
		switch call.Target {
		case "add":
			return &mcp.ToolResult{StructuredContent: json.RawMessage(`{"sum":0}`)}, nil
		case "greet":
			return &mcp.PromptResult{}, nil
		}
		if call.Method == "ping" {
			return nil, nil
		}
		return next(ctx)
	}})
	c := mcptest.ConnectWith(t, s, mcptest.Options{Revision: mcp.Revision20241105})
	for _, test := range []struct{ method, params, want string }{
		{"ping", `{}`, `{}`},
		{"tools/call", `{"name":"add"}`, `{"content":[{"type":"text","text":"{\"sum\":0}"}]}`},
		{"prompts/get", `{"name":"greet","uri":"x"}`, `{"messages":[]}`},
		{"resources/read", `{"name":"add","uri":"note://readme"}`, `{"contents":[{"uri":"note://readme","mimeType":"text/plain","text":"hello"}]}`},
		{"resources/subscribe", `{"uri":"note://logo"}`, `{}`},
		{"resources/unsubscribe", `{"uri":"note://logo"}`, `{}`},
		{"tools/list", `{"name":"add","":"add"}`, ""},
	} {
		var result json.RawMessage
		if err := c.Call(test.method, json.RawMessage(test.params), &result); err != nil || test.want != "" && string(result) != test.want {
			t.Errorf("%s gives %s, %v, want %s", test.method, result, err, test.want)
		}
	}
	if want := []string{"add", "greet", "note://readme", "note://logo", "note://logo"}; !reflect.DeepEqual(targets, want) {
		t.Errorf("the hook saw the targets %q, want %q", targets, want)
	}
}

// A client cannot use a capability that was not offered in its handshake.
func TestOffersAreFixedPerSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(mcp.Options{Tools: true})
		early := mcptest.Connect(t, s)
		get := func(context.Context, map[string]string) (*mcp.PromptResult, error) { return nil, nil }
		if err := errors.Join(s.AddPrompt(mcp.Prompt{Name: "p"}, get), s.AddTool(mcp.Tool{Name: "t"}, fixture.Nothing)); err != nil {
			t.Fatal(err)
		}
		early.Next("notifications/tools/list_changed")
		synctest.Wait()
		if more := early.Received(); len(more) != 0 {
			t.Errorf("the early client got %+v, want nothing", more)
		}
		if err := early.Call("prompts/list", nil, nil); !errors.Is(err, jsonrpc.MethodNotFound) {
			t.Errorf("the early client's prompts/list: got %v, want %v", err, jsonrpc.MethodNotFound)
		}
		if late := mcptest.Connect(t, s); len(late.Prompts()) != 1 {
			t.Errorf("the late client sees %d prompts, want 1", len(late.Prompts()))
		}
	})
}

// Changes in quick succession cause one notification.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(mcp.Options{Tools: true})
		c := mcptest.Connect(t, s)
		for i := range 30 {
			if err := s.AddTool(mcp.Tool{Name: fmt.Sprint("t", i)}, fixture.Nothing); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := c.Received(); len(got) != 1 {
			t.Errorf("30 changes in 150 ms make %d notifications, want 1: %+v", len(got), got)
		}
		// A server that changes continuously still sends notifications.
		for i := range 100 {
			s.RemoveTool(fmt.Sprint("t", i%30))
			if err := s.AddTool(mcp.Tool{Name: fmt.Sprint("t", i%30)}, fixture.Nothing); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := c.Received(); len(got) < 3 || len(got) > 5 {
			t.Errorf("changes for half a second make %d notifications, want 3 to 5", len(got))
		}
	})
}

// Handlers can read the state of the session and the client's description from the call.
func TestSession(t *testing.T) {
	s := newServer(mcp.Options{})
	var call *mcp.Call
	err := s.AddTool(mcp.Tool{Name: "who"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		call = mcp.CallFrom(ctx)
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c := mcptest.ConnectWith(t, s, mcptest.Options{
		Revision:     mcp.Revision20250326,
		Capabilities: mcp.Capabilities{"sampling": json.RawMessage(`{}`), "unheard/of": json.RawMessage(`[1]`)},
		Info:         mcp.Implementation{Name: "me", Version: "9"},
	})
	c.CallTool("who", nil)
	session := call.Session
	if session.Revision() != mcp.Revision20250326 || call.Client().Name != "me" {
		t.Errorf("session = revision %v, client %+v, want %v, me", session.Revision(), call.Client(), mcp.Revision20250326)
	}
	if caps := call.ClientCapabilities(); !caps.Has("sampling") || !caps.Has("unheard/of") || caps.Has("roots") {
		t.Errorf("the capabilities are %s; want sampling and unheard/of, and no roots", caps)
	}
}

// Every session of a server is notified of changes, in its own revision.
func TestSeveralSessions(t *testing.T) {
	s := fixture.New(t, mcp.Options{Logger: quietLogger()})
	old := mcptest.ConnectWith(t, s, mcptest.Options{Revision: mcp.Revision20241105})
	young := mcptest.Connect(t, s)
	if tools := old.Tools(); tools[0].Title != "" || tools[0].OutputSchema != nil {
		t.Errorf("the older client gets the tool %+v, want it without title and output schema", tools[0])
	}
	if tools := young.Tools(); tools[0].Title == "" || tools[0].OutputSchema == nil {
		t.Errorf("the younger client gets the tool %+v, want it with title and output schema", tools[0])
	}
	s.RemoveTool("add")
	s.RemovePrompt("plain")
	s.RemoveResource("note://logo")
	for _, c := range []*mcptest.Client{old, young} {
		c.Next("notifications/tools/list_changed")
		c.Next("notifications/prompts/list_changed")
		c.Next("notifications/resources/list_changed")
	}
}

// Components may be added during calls. The race detector checks this.
func TestConcurrentUse(t *testing.T) {
	s := fixture.New(t, mcp.Options{Logger: quietLogger()})
	var wg sync.WaitGroup
	for i := range 4 {
		c := mcptest.Connect(t, s)
		wg.Go(func() {
			for range 50 {
				if got := c.CallTool("add", map[string]any{"a": i, "b": 1}).Text(); got == "" {
					t.Error("add returned no text")
				}
				c.Tools()
				c.Resources()
			}
		})
		wg.Go(func() {
			name := string(rune('a' + i))
			for range 50 {
				if err := s.AddTool(mcp.Tool{Name: name}, fixture.Nothing); err != nil {
					t.Error(err)
				}
				s.ResourceUpdated("note://readme")
				s.RemoveTool(name)
			}
		})
	}
	wg.Wait()
}

// Resources and prompts need scopes as tools do. With scopes, contents are never cached for all
// users.
func TestScopes(t *testing.T) {
	s := newServer(mcp.Options{})
	secret := func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{{Text: "secret"}}, nil
	}
	scopes, public := []string{"notes:read"}, mcp.Cache{TTL: time.Minute, Public: true}
	err := errors.Join(
		s.AddTool(mcp.Tool{Name: "free"}, fixture.Nothing),
		s.AddTool(mcp.Tool{Name: "tool", Scopes: scopes}, fixture.Nothing),
		s.AddResource(mcp.Resource{URI: "note://one", Name: "one", Scopes: scopes, Cache: public}, secret),
		s.AddResource(mcp.Resource{URI: "note://here", Name: "here", Scopes: scopes, Local: true}, secret),
		s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "note://all/{id}", Name: "all", Scopes: scopes, Cache: public}, secret),
		s.AddPrompt(mcp.Prompt{Name: "tool", Arguments: []mcp.PromptArgument{{Name: "id"}}, Scopes: []string{"notes:write"}}, func(context.Context, map[string]string) (*mcp.PromptResult, error) { return nil, nil }),
	)
	complete := func(context.Context, string, string, map[string]string) ([]string, error) {
		return []string{"secret"}, nil
	}
	if err := errors.Join(err, s.CompletePrompt("tool", complete)); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(s.RemoteScopes()), "map[all:[notes:read] free:[] one:[notes:read] tool:[notes:read notes:write]]"; got != want {
		t.Errorf("the scopes are %s, want %s", got, want)
	}
	local := mcptest.Connect(t, s)
	eve := local.As(&auth.Identity{Subject: "eve", Scopes: []string{"mail"}})
	ada := local.As(&auth.Identity{Subject: "ada", Scopes: []string{"notes:read", "notes:write"}})
	for method, params := range map[string]string{
		"tools/call": `{"name":"tool"}`, "resources/read": `{"uri":"note://one"}`, "resources/subscribe": `{"uri":"note://all/1"}`, "prompts/get": `{"name":"tool"}`,
		"completion/complete": `{"ref":{"type":"ref/prompt","name":"tool"},"argument":{"name":"id","value":""}}`,
	} {
		if err := eve.Call(method, json.RawMessage(params), nil); !errors.Is(err, jsonrpc.InvalidRequest) || !strings.Contains(err.Error(), "the caller needs the scopes notes:") {
			t.Errorf(`%s without the scopes: %v; want the code of %v and "the caller needs the scopes notes:"`, method, err, jsonrpc.InvalidRequest)
		}
		for _, client := range []*mcptest.Client{local, ada} {
			if err := client.Call(method, json.RawMessage(params), nil); err != nil {
				t.Errorf("%s: %v", method, err)
			}
		}
	}
	for list, n := range map[string][2]int{
		"tools": {len(eve.Tools()), 2}, "prompts": {len(eve.Prompts()), 1}, "resources": {len(eve.Resources()), 2}, "resource templates": {len(eve.ResourceTemplates()), 1},
	} {
		if got, want := n[0], n[1]; got != want {
			t.Errorf("without the scopes, the client sees %d %s, want %d", got, list, want)
		}
	}
	stateless := mcptest.ConnectWith(t, s, mcptest.Options{Revision: mcp.Latest})
	for _, uri := range []string{"note://one", "note://all/1"} {
		var result json.RawMessage
		if err := stateless.Call("resources/read", map[string]string{"uri": uri}, &result); err != nil || !strings.Contains(string(result), `"cacheScope":"private"`) {
			t.Errorf(`%s: %s, %v; want no error and "\"cacheScope\":\"private\"" in it`, uri, result, err)
		}
	}
}
