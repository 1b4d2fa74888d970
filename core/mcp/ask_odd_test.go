package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcptest"
)

// oddClient gives fixed answers to all questions.
func oddClient(t *testing.T, s *mcp.Server, r mcp.Revision, answer string) *mcptest.Client {
	return mcptest.ConnectWith(t, s, mcptest.Options{
		Revision:     r,
		Capabilities: mcp.Capabilities{"elicitation": json.RawMessage(`{}`), "sampling": json.RawMessage(`{"tools":{}}`), "roots": json.RawMessage(`{}`)},
		Handle: func(context.Context, string, json.RawMessage) (any, error) {
			return json.RawMessage(answer), nil
		},
	})
}

func askingServer(t *testing.T, o mcp.Options, ask func(context.Context) (string, error)) *mcp.Server {
	s := newServer(o)
	if err := s.AddTool(mcp.Tool{Name: "ask"}, fixture.Handler(ask)); err != nil {
		t.Fatal(err)
	}
	return s
}

// An invalid answer fails its own call only, and is never accepted as an answer.
func TestOddAnswers(t *testing.T) {
	form := func() mcp.Question {
		return &mcp.Elicitation{Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","default":"x"}}}`)}
	}
	roots := func() mcp.Question { return &mcp.RootList{} }
	sample := func() mcp.Question {
		return &mcp.Sampling{MaxTokens: 1, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: []mcp.Content{mcp.Text{Text: "x"}}}}}
	}
	tests := []struct {
		name     string
		question func() mcp.Question
		answer   string
		good     bool
	}{
		{"null content", form, `{"action":"accept","content":null}`, true},
		{"no content", form, `{"action":"accept"}`, true},
		{"list content", form, `{"action":"accept","content":[]}`, false},
		{"no action", form, `{}`, false},
		{"nested null", form, `{"action":"accept","content":{"a":null}}`, false},
		{"no roots", roots, `{}`, false},
		{"null roots", roots, `{"roots":null}`, false},
		{"a null root", roots, `{"roots":[null]}`, false},
		{"empty roots", roots, `{"roots":[]}`, true},
		{"no role", sample, `{"content":{"type":"text","text":"x"},"model":"m"}`, false},
		{"no message", sample, `{"role":"assistant","model":"m"}`, false},
		{"strange block", sample, `{"role":"assistant","content":{"type":"video"},"model":"m"}`, false},
		{"nameless use", sample, `{"role":"assistant","content":[{"type":"tool_use","input":{}}],"model":"m"}`, false},
	}
	for _, test := range tests {
		for _, r := range askingRevisions() {
			t.Run(test.name+"/"+string(r), func(t *testing.T) {
				s := askingServer(t, mcp.Options{}, func(ctx context.Context) (string, error) { return "done", mcp.Ask(ctx, test.question()) })
				client := oddClient(t, s, r, test.answer)
				var result mcp.ToolResult
				err := client.Call("tools/call", map[string]any{"name": "ask"}, &result)
				if good := err == nil && !result.IsError; good != test.good {
					t.Errorf("got the error %v and the result %q; want success: %t", err, result.Text(), test.good)
				}
				if err := client.Call("tools/list", nil, nil); err != nil {
					t.Errorf("and after it: %v", err)
				}
			})
		}
	}
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no way") }

// A question that panics fails only its call.
func TestAskPanics(t *testing.T) {
	for _, r := range askingRevisions() {
		s := askingServer(t, mcp.Options{}, func(ctx context.Context) (string, error) {
			return "", mcp.Ask(ctx, &mcp.Sampling{MaxTokens: 1, Metadata: mcp.Meta{"x": panics{}}, Messages: []mcp.SamplingMessage{{Content: []mcp.Content{mcp.Text{}}}}})
		})
		client := answering(t, s, r)
		if err := client.Call("tools/call", map[string]any{"name": "ask"}, nil); err == nil || !strings.Contains(err.Error(), "internal error") {
			t.Errorf(`%s: %v; want an error containing "internal error"`, r, err)
		}
	}
}

// A hook may ask, and may call the handler twice.
func TestHookAsks(t *testing.T) {
	for _, r := range askingRevisions() {
		t.Run(string(r), func(t *testing.T) {
			hook := func(ctx context.Context, c *mcp.Call, next func(context.Context) (any, error)) (any, error) {
				if c.Method != "tools/call" {
					return next(ctx)
				}
				name := nameForm()
				if err := mcp.Ask(ctx, name); err != nil {
					return nil, fmt.Errorf("who are you: %w", err)
				}
				if _, err := next(ctx); err != nil {
					return nil, err
				}
				return next(ctx)
			}
			runs := 0
			s := askingServer(t, mcp.Options{Hook: hook}, func(ctx context.Context) (string, error) {
				dirs := &mcp.RootList{}
				if err := mcp.Ask(ctx, dirs); err != nil {
					return "", err
				}
				runs++
				return fmt.Sprint(runs), nil
			})
			if got := answering(t, s, r).CallTool("ask", nil); got.Text() != "2" {
				t.Errorf(`the tool: got %q, want "2"`, got.Text())
			}
		})
	}
}

// The result of a hook must be an object in every revision.
func TestHookResults(t *testing.T) {
	for _, r := range askingRevisions() {
		for _, bad := range []any{"x", []int{1}, 7} {
			s := newServer(mcp.Options{Tools: true, Hook: func(ctx context.Context, c *mcp.Call, next func(context.Context) (any, error)) (any, error) {
				if c.Method == "tools/list" {
					return bad, nil
				}
				return next(ctx)
			}})
			if err := answering(t, s, r).Call("tools/list", nil, nil); err == nil {
				t.Errorf("%s: %v is accepted", r, bad)
			}
		}
		s := newServer(mcp.Options{Tools: true, Hook: func(ctx context.Context, c *mcp.Call, next func(context.Context) (any, error)) (any, error) {
			if c.Method == "tools/list" {
				return (*mcp.ToolResult)(nil), nil
			}
			return next(ctx)
		}})
		if err := answering(t, s, r).Call("tools/list", nil, nil); err != nil {
			t.Errorf("%s: no result at all gives %v", r, err)
		}
	}
}

// The key of a question that cannot be asked can be used again.
func TestAskInstead(t *testing.T) {
	for _, r := range askingRevisions() {
		s := askingServer(t, mcp.Options{}, func(ctx context.Context) (string, error) {
			err := mcp.Ask(ctx, &mcp.URLElicitation{Key: "login", URL: "https://example.org"})
			var cannot *mcp.CannotAskError
			if !errors.As(err, &cannot) {
				return "", fmt.Errorf("a page can be asked for: %w", err)
			}
			form := nameForm()
			form.Key = "login"
			err = mcp.Ask(ctx, form)
			return string(form.Action), err
		})
		if got := oddClient(t, s, r, `{"action":"decline"}`).CallTool("ask", nil); got.Text() != "decline" {
			t.Errorf(`%s: the tool: got %q, want "decline"`, r, got.Text())
		}
	}
}

// Several goroutines of a handler may ask, and the client gets all questions in one round.
func TestAskFromManyGoroutines(t *testing.T) {
	for _, r := range askingRevisions() {
		var runs atomic.Int32
		s := askingServer(t, mcp.Options{}, func(ctx context.Context) (string, error) {
			runs.Add(1)
			var all sync.WaitGroup
			errs := make([]error, 5)
			for i := range errs {
				all.Go(func() { errs[i] = mcp.Ask(ctx, &mcp.RootList{Key: fmt.Sprint("k", i)}) })
			}
			all.Wait()
			return "done", errors.Join(errs...)
		})
		if got := answering(t, s, r).CallTool("ask", nil); got.Text() != "done" {
			t.Errorf(`%s: the tool: got %q, want "done"`, r, got.Text())
		}
		if want := map[mcp.Revision]int32{mcp.Revision20251125: 1, mcp.Revision20260728: 2}[r]; runs.Load() != want {
			t.Errorf("%s: %d runs, want %d", r, runs.Load(), want)
		}
	}
}

// Ask fails after the call has ended.
func TestAskTooLate(t *testing.T) {
	for _, r := range askingRevisions() {
		later := make(chan context.Context, 1)
		s := askingServer(t, mcp.Options{}, func(ctx context.Context) (string, error) {
			later <- context.WithoutCancel(ctx)
			return "done", nil
		})
		var asked atomic.Int32
		client := mcptest.ConnectWith(t, s, mcptest.Options{
			Revision: r, Capabilities: mcp.Capabilities{"roots": json.RawMessage(`{}`)},
			Handle: func(context.Context, string, json.RawMessage) (any, error) {
				asked.Add(1)
				return json.RawMessage(`{"roots":[]}`), nil
			},
		})
		client.CallTool("ask", nil)
		if err := mcp.Ask(<-later, &mcp.RootList{}); err == nil || !strings.Contains(err.Error(), "the call has ended") {
			t.Errorf(`%s: %v; want an error containing "the call has ended"`, r, err)
		}
		if asked.Load() != 0 {
			t.Errorf("%s: the client was asked %d times, want 0", r, asked.Load())
		}
	}
}

// A state is used when the handler runs, and not by a request that is refused earlier.
func TestStateSurvivesRefusals(t *testing.T) {
	refuse := false
	s := askingServer(t, mcp.Options{Hook: func(ctx context.Context, _ *mcp.Call, next func(context.Context) (any, error)) (any, error) {
		if refuse {
			return nil, errors.New("come back later")
		}
		return next(ctx)
	}}, func(ctx context.Context) (string, error) {
		name := nameForm()
		name.Key = "k"
		if err := mcp.Ask(ctx, name); err != nil {
			return "", err
		}
		return string(name.Content), nil
	})
	client := connectRaw(t, s)
	const call = `{"name":"ask","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}%s}`
	_, rest, _ := strings.Cut(string(client.ask(t, fmt.Appendf(nil, call, ""))), `"requestState":"`)
	state, _, _ := strings.Cut(rest, `"`)
	try := func(answer string) string {
		return string(client.ask(t, fmt.Appendf(nil, call, `,"requestState":"`+state+`","inputResponses":{"k":`+answer+`}`)))
	}
	if got := try(`12345`); !strings.Contains(got, "must be an object") {
		t.Error(got)
	}
	refuse = true
	if got := try(`{"action":"accept","content":{"name":"Ann"}}`); !strings.Contains(got, "come back later") {
		t.Error(got)
	}
	refuse = false
	if got := try(`{"action":"accept","content":{"name":7}}`); !strings.Contains(got, "must be a string") {
		t.Error(got)
	}
	if got := try(`{"action":"accept","content":{"name":"Ann"}}`); !strings.Contains(got, `Ann`) || strings.Contains(got, "error") {
		t.Error(got)
	}
	if got := try(`{"action":"accept","content":{"name":"Ann"}}`); !strings.Contains(got, "has been used") {
		t.Error(got)
	}
}

// Answers that would not fit into the next message are refused. Answers to unknown questions are
// not kept.
func TestStateSize(t *testing.T) {
	s := askingServer(t, mcp.Options{MaxMessage: 10_000}, func(ctx context.Context) (string, error) {
		for i := range 5 {
			if err := mcp.Ask(ctx, &mcp.Elicitation{Key: fmt.Sprint("k", i), Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	big := `{"action":"accept","content":{"a":"` + strings.Repeat("x", 1500) + `"}}`
	client := oddClient(t, s, mcp.Revision20260728, big)
	err := client.Call("tools/call", map[string]any{"name": "ask"}, nil)
	if err == nil || !strings.Contains(err.Error(), "cannot ask again") {
		t.Errorf(`error = %v; want an error containing "cannot ask again"`, err)
	}
	raw := connectRaw(t, s)
	answer := raw.ask(t, fmt.Appendf(nil, `{"name":"ask","inputResponses":{"unasked":%s},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}`, big))
	if len(answer) > 1000 {
		t.Errorf("the answer has %d bytes, want at most 1000: the state must not keep answers to unknown questions", len(answer))
	}
}

// A Sampling with tools is encoded as clients expect.
func TestSamplingWithTools(t *testing.T) {
	var got string
	s := askingServer(t, mcp.Options{}, func(ctx context.Context) (string, error) {
		q := &mcp.Sampling{MaxTokens: 1, Tools: []mcp.Tool{{Name: "add"}}, Messages: []mcp.SamplingMessage{{Role: mcp.RoleAssistant, Content: []mcp.Content{mcp.ToolUse{ID: "1", Name: "add"}}}}}
		return "", mcp.Ask(ctx, q)
	})
	client := mcptest.ConnectWith(t, s, mcptest.Options{
		Revision: mcp.Revision20260728, Capabilities: mcp.Capabilities{"sampling": json.RawMessage(`{"tools":{}}`)},
		Handle: func(_ context.Context, _ string, params json.RawMessage) (any, error) {
			got = string(params)
			return json.RawMessage(`{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}`), nil
		},
	})
	client.CallTool("ask", nil)
	for _, want := range []string{`"inputSchema":{"type":"object"}`, `"input":{}`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	// Tools in the messages need the capability as well.
	s = askingServer(t, mcp.Options{}, func(ctx context.Context) (string, error) {
		return "", mcp.Ask(ctx, &mcp.Sampling{MaxTokens: 1, Messages: []mcp.SamplingMessage{{Content: []mcp.Content{mcp.ToolUse{ID: "1", Name: "add"}}}}})
	})
	if got := answering(t, s, mcp.Revision20251125).CallTool("ask", nil); !strings.Contains(got.Text(), `sampling {"tools":{}}`) {
		t.Errorf(`the tool: got %q, want it to contain "sampling {\"tools\":{}}"`, got.Text())
	}
}

// slog writes duplicate keys; the client gets the last one.
func TestLogOfRepeatedKeys(t *testing.T) {
	s := askingServer(t, mcp.Options{}, func(ctx context.Context) (string, error) {
		mcp.Logger(ctx).With("id", 1).Info("m", "id", 2, "big", int64(9007199254740993))
		return "", nil
	})
	client := mcptest.Connect(t, s)
	if err := client.Call("logging/setLevel", map[string]any{"level": "debug"}, nil); err != nil {
		t.Fatal(err)
	}
	client.CallTool("ask", nil)
	var got struct {
		Data map[string]json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(client.Next("notifications/message").Params, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"msg": `"m"`, "id": "2", "big": "9007199254740993"}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if string(got.Data[key]) != want[key] {
			t.Errorf("the data of %q is %s, want %s", key, got.Data[key], want[key])
		}
	}
}

// A listen returns its result when the server ends, even without a grace period.
func TestListenEndsWithItsResult(t *testing.T) {
	for range 30 {
		s := newServer(mcp.Options{Grace: -1, Tools: true})
		ctx, stop := context.WithCancel(t.Context())
		ours, theirs := jsonrpc.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx, theirs) }()
		client := &rawClient{ours}
		client.send(t, []byte(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
		client.receive(t) // the acknowledgement
		stop()
		if answer := string(client.receive(t)); !strings.Contains(answer, `"result":{"resultType":"complete"`) {
			t.Fatalf(`the listen ended with %q, want it to contain "\"result\":{\"resultType\":\"complete\""`, answer)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// A used state is refused each time a hook tries it, even if it was valid when the call began.
func TestHookCannotReplay(t *testing.T) {
	const n = 2
	var both sync.WaitGroup
	both.Add(n)
	s := askingServer(t, mcp.Options{Hook: func(ctx context.Context, c *mcp.Call, next func(context.Context) (any, error)) (any, error) {
		if strings.Contains(string(c.Params), "requestState") {
			both.Done()
			both.Wait()
		}
		if result, err := next(ctx); err == nil {
			return result, nil
		}
		return next(ctx)
	}}, func(ctx context.Context) (string, error) { return "done", mcp.Ask(ctx, &mcp.RootList{Key: "k"}) })
	client := connectRaw(t, s)
	const call = `{"name":"ask","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}%s}`
	_, rest, _ := strings.Cut(string(client.ask(t, fmt.Appendf(nil, call, ""))), `"requestState":"`)
	state, _, _ := strings.Cut(rest, `"`)
	for i := range n {
		params := fmt.Sprintf(call, `,"requestState":"`+state+`","inputResponses":{"k":{"roots":[]}}`)
		client.send(t, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"try%d","method":"tools/call","params":%s}`, i, params))
	}
	done := 0
	for range n {
		if strings.Contains(string(client.receive(t)), `"text":"done"`) {
			done++
		}
	}
	if done != 1 {
		t.Errorf("the state was accepted %d times, want once", done)
	}
}
