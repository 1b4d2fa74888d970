package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/client/testdata/watch"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcphttp"
	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/strictjson"
)

// ways are the ways to connect to a server.
func ways(t *testing.T) map[string]func(*mcp.Server, client.Options) (*client.Client, error) {
	return map[string]func(*mcp.Server, client.Options) (*client.Client, error){
		"in memory": func(s *mcp.Server, o client.Options) (*client.Client, error) {
			return client.InProcess(t.Context(), s, o)
		},
		"over HTTP": func(s *mcp.Server, o client.Options) (*client.Client, error) {
			handler := mcphttp.NewHandler(s, mcphttp.Options{})
			web := httptest.NewServer(handler)
			t.Cleanup(web.Close)
			return clienthttp.Dial(t.Context(), clienthttp.Server{URL: web.URL}, o)
		},
	}
}

// everywhere runs a test over each way and in each revision.
func everywhere(t *testing.T, s func(*testing.T) *mcp.Server, o client.Options, f func(*testing.T, *client.Client)) {
	for _, revision := range append([]mcp.Revision{""}, mcp.Revisions()...) {
		for name := range ways(t) {
			t.Run(string(revision)+" "+name, func(t *testing.T) {
				o := o
				o.Revision = revision
				client, err := ways(t)[name](s(t), o)
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := client.Close(); err != nil {
						t.Errorf("closing: %v", err)
					}
				}()
				if revision == "" {
					revision = mcp.Latest
				}
				if got := client.Revision(); got != revision {
					t.Errorf("Revision() = %q, want %q", got, revision)
				}
				f(t, client)
			})
		}
	}
}

// newServer returns a server with one of everything, and with tools that ask the client.
func newServer(t *testing.T) *mcp.Server {
	s := fixture.New(t, mcp.Options{PageSize: 2, Instructions: "Add."})
	for name, handler := range fixture.AskingTools() {
		if err := s.AddTool(mcp.Tool{Name: name}, handler); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Listing tools, finding one by name, and calling it.
func TestClientCalls(t *testing.T) {
	everywhere(t, newServer, client.Options{}, func(t *testing.T, c *client.Client) {
		tools, err := c.Tools(t.Context())
		want := len(fixture.Tools()) + len(fixture.AskingTools()) + 4 // add, counts, lies and order
		if err != nil || len(tools) != want {
			t.Fatalf("got %d tools, %v; want %d and no error", len(tools), err, want)
		}
		tool, err := c.Tool(t.Context(), "add")
		if err != nil || string(tool.InputSchema) != fixture.AddInputSchema {
			t.Errorf("add is %+v, %v; want no error and InputSchema %q", tool, err, fixture.AddInputSchema)
		}
		result, err := c.CallTool(t.Context(), "add", map[string]any{"a": 1, "b": 2})
		if err != nil || result.Text() != `{"sum":3}` || result.IsError {
			t.Errorf(`add gives %+v, %v; want no error, Text "{\"sum\":3}" and IsError false`, result, err)
		}
		var raw json.RawMessage
		if _, err := c.CallTool(t.Context(), "add", map[string]any{"a": 1, "b": 2}, client.KeepResult(&raw)); err != nil || !strings.Contains(string(raw), `"text":"{\"sum\":3}"`) {
			t.Errorf(`the kept result is %s, %v; want no error and "\"text\":\"{\\\"sum\\\":3}\"" in it`, raw, err)
		}
		entries, err := c.Entries(t.Context(), "tools/list", "tools")
		if err != nil || len(entries) != len(tools) || !strings.Contains(string(entries[0]), `"name":"add"`) {
			t.Errorf(`as they were sent the tools are %s, %v; want %d, the first with "name":"add", and no error`, entries, err, len(tools))
		}
		if c.Server().Name != "fixture" || c.Instructions() != "Add." || !c.Capabilities().Has("tools") {
			t.Errorf(`the server is %+v with the instructions %q and the capabilities %v; want the name "fixture", "Add." and tools`, c.Server(), c.Instructions(), c.Capabilities())
		}
		if err := c.Ping(t.Context()); err != nil {
			t.Errorf("ping: %v", err)
		}
	})
}

// The failure of a tool is a result; an error of the protocol is an error.
func TestClientErrors(t *testing.T) {
	everywhere(t, newServer, client.Options{}, func(t *testing.T, c *client.Client) {
		if result, err := c.CallTool(t.Context(), "fails", nil); err != nil || !result.IsError || result.Text() != "no luck today" {
			t.Errorf(`fails gives %+v, %v; want no error, IsError true and Text "no luck today"`, result, err)
		}
		var connection *client.ConnectionError
		for name, code := range map[string]jsonrpc.Code{"refuses": -5, "codes": jsonrpc.InvalidParams, "nope": jsonrpc.InvalidParams} {
			if _, err := c.CallTool(t.Context(), name, nil); !errors.Is(err, code) || errors.As(err, &connection) {
				t.Errorf("%s gives %v (%T); want the code of %v, and no *ConnectionError", name, err, err, code)
			}
		}
		if _, err := c.Tool(t.Context(), "nope"); err == nil || !strings.Contains(err.Error(), `tool "nope" not found; the server has nothing, add, `) {
			t.Errorf(`an unknown tool: %v; want an error containing "tool \"nope\" not found; the server has nothing, add, "`, err)
		}
		for _, wrong := range []any{[]int{1}, "text", json.RawMessage(`{`), func() {}} {
			if _, err := c.CallTool(t.Context(), "add", wrong); err == nil || !strings.Contains(err.Error(), "invalid arguments: ") || errors.As(err, &connection) {
				t.Errorf(`%T as arguments: %v (%T); want an error containing "invalid arguments: ", and no *ConnectionError`, wrong, err, err)
			}
		}
		if err := c.Request(t.Context(), "no/such", nil, nil); !errors.Is(err, jsonrpc.MethodNotFound) {
			t.Errorf("an unknown method: got %v, want %v", err, jsonrpc.MethodNotFound)
		}
	})
}

func TestClientContent(t *testing.T) {
	everywhere(t, newServer, client.Options{}, func(t *testing.T, c *client.Client) {
		result, err := c.CallTool(t.Context(), "shows", nil)
		if err != nil || len(result.Content) != 5 {
			t.Fatalf("shows gives %+v, %v; want five content blocks and no error", result, err)
		}
		if c.Revision() < mcp.Revision20250618 {
			return // which knows less
		}
		text, image, link := result.Content[0].(mcp.Text), result.Content[1].(mcp.Image), result.Content[4].(mcp.ResourceLink)
		if text.Annotations == nil || text.Meta["k"] != "v" || string(image.Data) != "\x01\x02" || link.URI != "note://b" || result.Meta["k"] != "v" {
			t.Errorf("shows gives %+v; want a text with annotations and meta k=v, an image of the bytes 1 and 2, a link to note://b, and the meta k=v", result)
		}
	})
}

func TestClientResources(t *testing.T) {
	everywhere(t, newServer, client.Options{}, func(t *testing.T, c *client.Client) {
		resources, err := c.Resources(t.Context())
		if err != nil || len(resources) != 4 {
			t.Errorf("resources: %v, %v; want four and no error", resources, err)
		}
		templates, err := c.ResourceTemplates(t.Context())
		if err != nil || len(templates) != 1 || templates[0].URITemplate != "note://by-id/{id}{?page}" {
			t.Errorf("templates: %v, %v; want note://by-id/{id}{?page} and no error", templates, err)
		}
		contents, err := c.ReadResource(t.Context(), "note://by-id/7?page=2")
		if err != nil || len(contents) != 1 || contents[0].Text != "note 72" {
			t.Errorf(`reading gives %v, %v; want one part with "note 72" and no error`, contents, err)
		}
		if blob, err := c.ReadResource(t.Context(), "note://logo"); err != nil || string(blob[0].Blob) != "\x01\x02\x03" {
			t.Errorf("reading gives %v, %v; want the bytes 1, 2, 3 and no error", blob, err)
		}
		missing := mcp.ResourceNotFound
		if c.Revision() == mcp.Latest {
			missing = jsonrpc.InvalidParams
		}
		if _, err := c.ReadResource(t.Context(), "note://by-id/gone"); !errors.Is(err, missing) {
			t.Errorf("reading what is not there: got %v, want %v", err, missing)
		}
	})
}

func TestClientPrompts(t *testing.T) {
	everywhere(t, newServer, client.Options{}, func(t *testing.T, c *client.Client) {
		prompts, err := c.Prompts(t.Context())
		if err != nil || len(prompts) != 2 || !prompts[0].Arguments[0].Required {
			t.Errorf("prompts: %+v, %v; want two, the first with a required argument, and no error", prompts, err)
		}
		prompt, err := c.GetPrompt(t.Context(), "greet", map[string]string{"name": "Ann"})
		if err != nil || len(prompt.Messages) != 2 || prompt.Messages[0].Content.(mcp.Text).Text != "Greet Ann" {
			t.Errorf(`greet gives %+v, %v; want two messages, the first "Greet Ann", and no error`, prompt, err)
		}
		if _, err := c.GetPrompt(t.Context(), "greet", nil); !errors.Is(err, jsonrpc.InvalidParams) {
			t.Errorf("without its argument: got %v, want %v", err, jsonrpc.InvalidParams)
		}
		var result struct {
			Completion struct {
				Values []string `json:"values"`
			} `json:"completion"`
		}
		params := map[string]any{"ref": map[string]string{"type": "ref/prompt", "name": "greet"}, "argument": map[string]string{"name": "name", "value": "x"}}
		err = c.Request(t.Context(), "completion/complete", params, &result)
		if got := strings.Join(result.Completion.Values, " "); err != nil || got != "xa xb" {
			t.Errorf("completion/complete = %q, %v, want xa xb", got, err)
		}
	})
}

// The client does not send requests for capabilities that the server does not declare.
func TestClientOfLittle(t *testing.T) {
	little := func(*testing.T) *mcp.Server {
		return mcp.NewServer(mcp.Implementation{Name: "little", Version: "1"}, mcp.Options{})
	}
	everywhere(t, little, client.Options{}, func(t *testing.T, c *client.Client) {
		if prompts, err := c.Prompts(t.Context()); err != nil || prompts != nil {
			t.Errorf("prompts: %v, %v; want none and no error", prompts, err)
		}
		if _, err := c.Tool(t.Context(), "add"); err == nil || !strings.Contains(err.Error(), "the server has no tools") {
			t.Errorf(`a tool: %v; want an error containing "the server has no tools"`, err)
		}
	})
}

func TestClientProgress(t *testing.T) {
	everywhere(t, newServer, client.Options{}, func(t *testing.T, c *client.Client) {
		var seen []float64
		result, err := c.CallTool(t.Context(), "reports", nil, client.OnProgress(func(p client.Progress) { seen = append(seen, p.Progress/p.Total) }))
		if err != nil || result.Text() != "done" || fmt.Sprint(seen) != "[0 0.5 1]" {
			t.Errorf(`reports gives %v, %v, and the progress %v; want "done", no error and [0 0.5 1]`, result, err, seen)
		}
	})
}

func TestClientLogs(t *testing.T) {
	logged := make(chan string, 10)
	o := client.Options{Notification: func(_ context.Context, _ string, params json.RawMessage) {
		level, _ := strictjson.Unquote(strictjson.Member(params, "level"))
		logged <- level
	}}
	everywhere(t, newServer, o, func(t *testing.T, c *client.Client) {
		params := map[string]any{"name": "logs"}
		if c.Revision() == mcp.Latest {
			params["_meta"] = map[string]any{mcp.MetaLogLevel: "info"}
		} else if err := c.Request(t.Context(), "logging/setLevel", map[string]any{"level": "info"}, nil); err != nil {
			t.Fatal(err)
		}
		if err := c.Request(t.Context(), "tools/call", params, nil); err != nil {
			t.Fatal(err)
		}
		if got := <-logged + " " + <-logged; got != "info error" {
			t.Errorf(`the server logs with the levels %q, want "info error"`, got)
		}
	})
}

// When the context of a call ends, the context of the tool ends too.
func TestClientCancels(t *testing.T) {
	t.Parallel()
	entered, stopped := make(chan struct{}, 10), make(chan struct{}, 10)
	slow := func(t *testing.T) *mcp.Server {
		s := mcp.NewServer(mcp.Implementation{Name: "slow", Version: "1"}, mcp.Options{})
		err := s.AddTool(mcp.Tool{Name: "wait"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
			entered <- struct{}{}
			<-ctx.Done()
			stopped <- struct{}{}
			return nil, ctx.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	everywhere(t, slow, client.Options{}, func(t *testing.T, c *client.Client) {
		// A call may end before it reaches the tool. Then another one gets more time.
		untilEntered := func(call func(timeout time.Duration)) {
			for timeout := 20 * time.Millisecond; ; timeout *= 2 {
				call(timeout)
				select {
				case <-entered:
					<-stopped
					return
				default:
				}
			}
		}
		untilEntered(func(timeout time.Duration) {
			why := errors.New("enough")
			ctx, cancel := context.WithTimeoutCause(t.Context(), timeout, why)
			defer cancel()
			if _, err := c.CallTool(ctx, "wait", nil); !errors.Is(err, why) {
				t.Errorf("the call ends with %v, want %v", err, why)
			}
		})
		untilEntered(func(timeout time.Duration) {
			var late *peer.TimeoutError
			if _, err := c.CallTool(t.Context(), "wait", nil, client.WithTimeouts(timeout, 0)); !errors.As(err, &late) || late.After != timeout {
				t.Errorf("the call ends with %v, want a timeout after %v", err, timeout)
			}
		})
	})
}

// Progress restarts the timeout of a call, but not its maximum.
func TestClientTimesOut(t *testing.T) {
	for _, revision := range []mcp.Revision{mcp.LatestHandshake, mcp.Latest} {
		synctest.Test(t, func(t *testing.T) {
			s := mcp.NewServer(mcp.Implementation{Name: "steady", Version: "1"}, mcp.Options{})
			err := s.AddTool(mcp.Tool{Name: "work"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
				for i := range 30 {
					mcp.Progress(ctx, float64(i), 0, "")
					select {
					case <-ctx.Done():
						return nil, ctx.Err()
					case <-time.After(10 * time.Second):
					}
				}
				return mcp.TextResult("done"), nil
			})
			if err != nil {
				t.Fatal(err)
			}
			c, err := client.InProcess(t.Context(), s, client.Options{Revision: revision, Timeout: 200 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			follow := client.OnProgress(func(client.Progress) {})
			if result, err := c.CallTool(t.Context(), "work", nil, follow); err != nil || result.Text() != "done" {
				t.Errorf(`with progress: %v, %v; want no error and Text "done"`, result, err)
			}
			if _, err := c.CallTool(t.Context(), "work", nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("without progress: got %v, want %v", err, context.DeadlineExceeded)
			}
			if _, err := c.CallTool(t.Context(), "work", nil, follow, client.WithTimeouts(0, 220*time.Second)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("beyond MaxTimeout: got %v, want %v", err, context.DeadlineExceeded)
			}
		})
	}
}

// Handshake leaves out server/discover.
func TestClientHandshake(t *testing.T) {
	for name, connect := range ways(t) {
		c, err := connect(newServer(t), client.Options{Handshake: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if c.Revision() != mcp.LatestHandshake || c.Supported() != nil {
			t.Errorf("%s: revision %s; want Revision %q and no Supported", name, c.Revision(), mcp.LatestHandshake)
		}
	}
}

// InProcess leaves no goroutine behind, and passes values of its context to handlers.
func TestInProcess(t *testing.T) {
	type key struct{}
	for _, revision := range mcp.Revisions() {
		synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
			s := mcp.NewServer(mcp.Implementation{Name: "local", Version: "1"}, mcp.Options{})
			entered := make(chan struct{})
			err := errors.Join(
				s.AddTool(mcp.Tool{Name: "value"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
					return mcp.TextResult(fmt.Sprint(ctx.Value(key{}))), nil
				}),
				s.AddTool(mcp.Tool{Name: "wait"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
					close(entered)
					<-ctx.Done()
					return nil, ctx.Err()
				}))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
			c, err := client.InProcess(ctx, s, client.Options{Revision: revision})
			if err != nil {
				t.Fatal(err)
			}
			cancel() // it was for connecting
			if result, err := c.CallTool(t.Context(), "value", nil); err != nil || result.Text() != "kept" {
				t.Errorf(`value returns %+v, %v; want no error and Text "kept"`, result, err)
			}
			ended := make(chan error, 1)
			go func() {
				_, err := c.CallTool(t.Context(), "wait", nil)
				ended <- err
			}()
			<-entered
			if err := c.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			if err := <-ended; !errors.Is(err, jsonrpc.ErrClosed) {
				t.Errorf("the call in progress ends with %v, want %v", err, jsonrpc.ErrClosed)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.InProcess(ctx, fixture.New(t, mcp.Options{}), client.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: got %v, want %v", err, context.Canceled)
	}
}

func TestClientIsToldOfChanges(t *testing.T) {
	var server *mcp.Server
	made := func(t *testing.T) *mcp.Server {
		server = newServer(t)
		return server
	}
	told := make(chan string, 10)
	w := watch.New()
	w.Changed, w.Updated = func(list string) { told <- list }, func(uri string) { told <- uri }
	everywhere(t, made, client.Options{Notification: w.Notification}, func(t *testing.T, c *client.Client) {
		next := func() string {
			select {
			case what := <-told:
				return what
			case <-time.After(5 * time.Second):
				return "nothing"
			}
		}
		stop, err := w.Subscribe(t.Context(), c, "note://readme")
		if err != nil {
			t.Fatal(err)
		}
		server.RemoveTool("nothing")
		if got := next(); got != "tools" {
			t.Errorf(`the client is told of %q, want "tools"`, got)
		}
		server.ResourceUpdated("note://readme")
		if got := next(); got != "note://readme" {
			t.Errorf(`the client is told of %q, want "note://readme"`, got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestClientAnswers(t *testing.T) {
	o := client.Options{
		SampleTools: true,
		Sample: func(_ context.Context, s *mcp.Sampling) error {
			s.Answer = mcp.SampledMessage{Content: []mcp.Content{mcp.Text{Text: fmt.Sprintf("%d of %d", len(s.Messages), s.MaxTokens)}}, Model: "m", StopReason: "endTurn"}
			return nil
		},
		Elicit: func(_ context.Context, e *mcp.Elicitation) error {
			e.Action, e.Content = mcp.ActionAccept, json.RawMessage(`{"name":"Ann","color":"red"}`)
			switch {
			case strings.Contains(e.Message, "account"):
				e.Content = json.RawMessage(`{"account":"h"}`)
			case strings.Contains(e.Message, "tags"):
				e.Content = json.RawMessage(`{"tags":["a"]}`)
			}
			return nil
		},
		OpenURL: func(_ context.Context, e *mcp.URLElicitation) error {
			e.Action = mcp.ActionAccept
			return nil
		},
		Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///srv", Name: "srv"}}, nil },
	}
	everywhere(t, newServer, o, func(t *testing.T, c *client.Client) {
		r := c.Revision()
		for _, test := range []struct {
			tool, want string
			since      mcp.Revision
		}{
			{"ask", `accept {"account":"h","copies":1,"urgent":false}`, mcp.Revision20250618},
			{"ask.tags", "[a]", mcp.Revision20251125},
			{"ask.twice", `{"color":"red","name":"Ann"} {"color":"red","name":"Ann"}`, mcp.Revision20250618},
			{"ask.url", "accept", mcp.Revision20251125},
			{"ask.model", " of 40 (m, endTurn)", mcp.Revision20241105},
			{"ask.tools", "3 of 40", mcp.Revision20251125},
			{"ask.roots", "[{file:///srv srv}]", mcp.Revision20241105},
		} {
			if r < test.since {
				continue
			}
			result, err := c.CallTool(t.Context(), test.tool, nil)
			if err != nil || result.IsError || !strings.Contains(result.Text(), test.want) {
				t.Errorf("%s gives %+v, %v; want no error, IsError false and Text containing %q", test.tool, result, err, test.want)
			}
		}
	})
}

// A client may refuse to answer. A client without the capability is not asked.
func TestClientDeclines(t *testing.T) {
	o := client.Options{
		Elicit: func(_ context.Context, e *mcp.Elicitation) error {
			e.Action = mcp.ActionDecline
			return nil
		},
		Roots: func(context.Context) ([]mcp.Root, error) { return nil, errors.New("none of your business") },
	}
	everywhere(t, newServer, o, func(t *testing.T, c *client.Client) {
		if c.Revision() >= mcp.Revision20250618 {
			if result, err := c.CallTool(t.Context(), "ask", nil); err != nil || !strings.HasPrefix(result.Text(), "decline") {
				t.Errorf(`ask gives %+v, %v; want no error and Text starting with "decline"`, result, err)
			}
		}
		if result, err := c.CallTool(t.Context(), "ask.roots", nil); err == nil && !result.IsError || !strings.Contains(fmt.Sprint(err, result), "none of your business") {
			t.Errorf("ask.roots gives %+v, %v", result, err)
		}
		if result, err := c.CallTool(t.Context(), "ask.model", nil); err == nil && !result.IsError {
			t.Errorf("ask.model gives %+v", result)
		}
	})
}

// Concurrent calls each get their own result.
func TestClientManyAtOnce(t *testing.T) {
	everywhere(t, newServer, client.Options{}, func(t *testing.T, c *client.Client) {
		errs := make(chan error)
		for n := range 32 {
			go func() {
				for i := range 10 {
					result, err := c.CallTool(t.Context(), "add", fixture.AddInput{A: float64(n), B: float64(i)})
					if want := fmt.Sprintf(`{"sum":%d}`, n+i); err == nil && result.Text() != want {
						err = fmt.Errorf("%s, want %s", result.Text(), want)
					}
					if err != nil {
						errs <- err
						return
					}
				}
				errs <- nil
			}()
		}
		for range 32 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestClientOfNoServer(t *testing.T) {
	if _, err := clienthttp.Dial(t.Context(), clienthttp.Server{URL: "not an address"}, client.Options{}); err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:8080/mcp") {
		t.Errorf(`%v; want an error containing "http://127.0.0.1:8080/mcp"`, err)
	}
	var connection *client.ConnectionError
	if _, err := clienthttp.Dial(t.Context(), clienthttp.Server{URL: "http://127.0.0.1:1/mcp"}, client.Options{}); !errors.As(err, &connection) || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("without a listener: %v, want a *ConnectionError that names 127.0.0.1:1", err)
	}
	if _, err := client.Start(t.Context(), client.Command{Program: "no-such-program"}, client.Options{}); !errors.As(err, &connection) || !strings.Contains(err.Error(), "not found in PATH") {
		t.Errorf(`no program: %v, want a *ConnectionError containing "not found in PATH"`, err)
	}
}

// An error of this client is not reported as one of the server, but callers can find its cause.
func TestClientCannotAnswer(t *testing.T) {
	cause := errors.New("no disk")
	for _, test := range []struct {
		roots func(context.Context) ([]mcp.Root, error)
		want  string
	}{
		{nil, "this client does not support roots/list"},
		{func(context.Context) ([]mcp.Root, error) { return nil, cause }, "no disk"},
		{func(context.Context) ([]mcp.Root, error) {
			return nil, errors.Join(jsonrpc.Errorf(jsonrpc.InternalError, "no roots"), cause)
		}, "no roots\nno disk"},
	} {
		ours, theirs := jsonrpc.Pipe()
		conn := peer.NewConn(theirs, peer.Options{Handle: func(_ context.Context, req *peer.Request) (any, error) {
			switch req.Method() {
			case "server/discover":
				return json.RawMessage(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`), nil
			case "tools/call":
				return json.RawMessage(`{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}`), nil
			}
			return nil, jsonrpc.Errorf(jsonrpc.MethodNotFound, "no method %s", req.Method())
		}})
		go conn.Run(t.Context())
		c, err := client.Over(t.Context(), ours, client.Options{Roots: test.roots})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.CallTool(t.Context(), "any", nil)
		if want := "answer roots/list for tools/call: " + test.want; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("CallTool returns the error %v, want one that contains %q", err, want)
		}
		var answered *jsonrpc.Error
		if errors.As(err, &answered) || errors.Is(err, jsonrpc.InternalError) {
			t.Errorf("CallTool returns %v, which matches a *jsonrpc.Error, want one that does not", err)
		}
		if got, want := errors.Is(err, cause), test.roots != nil; got != want {
			t.Errorf("errors.Is(%v, cause) = %v, want %v", err, got, want)
		}
		c.Close()
	}
}

// If a server refuses the revision and then names it as supported, the client tries once more.
func TestClientRepeatsDiscover(t *testing.T) {
	for _, refusals := range []int{1, 2} {
		ours, theirs := jsonrpc.Pipe()
		requests := 0
		conn := peer.NewConn(theirs, peer.Options{Handle: func(context.Context, *peer.Request) (any, error) {
			if requests++; requests <= refusals {
				return nil, &jsonrpc.Error{Code: mcp.UnsupportedVersion, Message: "not this one", Data: json.RawMessage(`{"supported":["2026-07-28"]}`)}
			}
			return json.RawMessage(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`), nil
		}})
		go conn.Run(t.Context())
		c, err := client.Over(t.Context(), ours, client.Options{})
		if (err == nil) != (refusals == 1) || requests != 2 {
			t.Errorf("%d refusals: %v after %d requests; want success only after one refusal, and two requests", refusals, err, requests)
		}
		if err == nil {
			c.Close()
		}
	}
}

// A peer that sends back all messages is not a server.
func TestClientOfAnEcho(t *testing.T) {
	ours, theirs := jsonrpc.Pipe()
	go func() {
		for {
			msg, err := theirs.Receive()
			if err != nil {
				return
			}
			theirs.Send(msg)
		}
	}()
	if _, err := client.Over(t.Context(), ours, client.Options{}); err == nil || !strings.Contains(err.Error(), "this client does not support initialize") {
		t.Errorf(`Over() = %v; want an error containing "this client does not support initialize"`, err)
	}
}
