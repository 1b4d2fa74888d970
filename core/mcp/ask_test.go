package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcptest"
)

// askingRevisions are the revisions that support all questions.
func askingRevisions() []mcp.Revision {
	return []mcp.Revision{mcp.Revision20251125, mcp.Revision20260728}
}

// answering returns a client that answers all questions.
func answering(t *testing.T, s *mcp.Server, r mcp.Revision) *mcptest.Client {
	return mcptest.ConnectWith(t, s, mcptest.Options{
		Revision: r,
		Capabilities: mcp.Capabilities{
			"elicitation": json.RawMessage(`{"form":{},"url":{}}`), "sampling": json.RawMessage(`{}`), "roots": json.RawMessage(`{}`),
		},
		Handle: func(_ context.Context, method string, params json.RawMessage) (any, error) {
			switch {
			case method == "roots/list":
				return json.RawMessage(`{"roots":[{"uri":"file:///a"}]}`), nil
			case method == "sampling/createMessage":
				return json.RawMessage(`{"role":"assistant","content":{"type":"text","text":"a subject"},"model":"m"}`), nil
			case strings.Contains(string(params), `"url"`):
				return json.RawMessage(`{"action":"cancel"}`), nil
			}
			return json.RawMessage(`{"action":"accept","content":{"name":"Ann"}}`), nil
		},
	})
}

func nameForm() *mcp.Elicitation {
	return &mcp.Elicitation{Message: "Who?", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}
}

// The same handlers of tools, prompts and resources ask in both eras.
func TestAskInEveryEra(t *testing.T) {
	runs := 0
	s := newServer(mcp.Options{})
	ask := func(ctx context.Context) (string, error) {
		runs++
		name, link, dirs := nameForm(), &mcp.URLElicitation{Message: "Log in", URL: "https://example.org"}, &mcp.RootList{}
		if err := mcp.Ask(ctx, name, link, dirs); err != nil {
			return "", err
		}
		draft := &mcp.Sampling{Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: []mcp.Content{mcp.Text{Text: "Go on"}}}}, MaxTokens: 9}
		if err := mcp.Ask(ctx, draft); err != nil {
			return "", err
		}
		var who struct {
			Name string `json:"name"`
		}
		err := name.Decode(&who)
		return fmt.Sprintf("%s, %s, %s, %s", who.Name, link.Action, dirs.Roots[0].URI, draft.Answer.Text()), err
	}
	const want = "Ann, cancel, file:///a, a subject"
	if err := errors.Join(
		s.AddTool(mcp.Tool{Name: "ask"}, fixture.Handler(ask)),
		s.AddPrompt(mcp.Prompt{Name: "ask"}, func(ctx context.Context, _ map[string]string) (*mcp.PromptResult, error) {
			text, err := ask(ctx)
			return &mcp.PromptResult{Description: text}, err
		}),
		s.AddResource(mcp.Resource{URI: "ask://a", Name: "ask"}, func(ctx context.Context, _ string, _ map[string]string) ([]mcp.ResourceContents, error) {
			text, err := ask(ctx)
			return []mcp.ResourceContents{{Text: text}}, err
		}),
	); err != nil {
		t.Fatal(err)
	}
	for _, r := range askingRevisions() {
		t.Run(string(r), func(t *testing.T) {
			client := answering(t, s, r)
			runs = 0
			if got := client.CallTool("ask", nil); got.Text() != want || got.IsError {
				t.Errorf("the tool returned %q; want Text %q and IsError false", got.Text(), want)
			}
			// In a session the handler waits; without one it runs again for every round of answers.
			if wantRuns := map[mcp.Revision]int{mcp.Revision20251125: 1, mcp.Revision20260728: 3}[r]; runs != wantRuns {
				t.Errorf("the handler ran %d times, want %d", runs, wantRuns)
			}
			if got := client.GetPrompt("ask", nil); got.Description != want {
				t.Errorf("the prompt: got %q, want %q", got.Description, want)
			}
			if got := client.ReadResource("ask://a"); got[0].Text != want {
				t.Errorf("the resource: got %q, want %q", got[0].Text, want)
			}
		})
	}
}

// Ask returns the error of an invalid question without asking the client.
func TestAskRefuses(t *testing.T) {
	message := []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: []mcp.Content{mcp.Text{Text: "x"}}}}
	tests := []struct {
		name     string
		question mcp.Question
		want     string
	}{
		{"nested form", &mcp.Elicitation{Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"object"}}}`)}, `properties.a: type "object" is not supported`},
		{"form of no type", &mcp.Elicitation{Schema: json.RawMessage(`{"type":"object","properties":{"a":{"enum":["x"]}}}`)}, `properties.a: type "" is not supported`},
		{"list of anything", &mcp.Elicitation{Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`)}, `properties.a: an array must be a multiple choice`},
		{"form that is none", &mcp.Elicitation{Schema: json.RawMessage(`{"type":"string"}`)}, `must have "type":"object"`},
		{"no form", &mcp.Elicitation{}, "schema: "},
		{"schema that is none", &mcp.Elicitation{Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","minLength":"x"}}}`)}, `properties.a.minLength`},
		{"no choice", &mcp.Elicitation{Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","oneOf":[]}}}`)}, `schema: `},
		{"two choices in one", &mcp.Elicitation{Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","enum":["x"],"oneOf":[{"const":"x"}]}}}`)}, `properties.a: a choice needs either`},
		{"default that is no answer", &mcp.Elicitation{Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","default":"x"}}}`)}, `properties.a: default: `},
		{"page over plain http", &mcp.URLElicitation{URL: "http://example.org/login"}, "must begin with https://, except on localhost"},
		{"no page", &mcp.URLElicitation{URL: "example.org"}, "must begin with https:// and have a host"},
		{"page of another kind", &mcp.URLElicitation{URL: "file:///etc/passwd"}, "must begin with https:// and have a host"},
		{"no limit", &mcp.Sampling{Messages: message}, "MaxTokens must be more than 0"},
		{"no message", &mcp.Sampling{MaxTokens: 1}, "needs a message with content"},
		{"a link to a model", &mcp.Sampling{MaxTokens: 1, Messages: []mcp.SamplingMessage{{Content: []mcp.Content{mcp.ResourceLink{}}}}}, "does not support mcp.ResourceLink"},
	}
	for _, test := range tests {
		for _, r := range askingRevisions() {
			t.Run(test.name+"/"+string(r), func(t *testing.T) {
				s := newServer(mcp.Options{})
				if err := s.AddTool(mcp.Tool{Name: "ask"}, fixture.Handler(func(ctx context.Context) (string, error) { return "", mcp.Ask(ctx, test.question) })); err != nil {
					t.Fatal(err)
				}
				if got := answering(t, s, r).CallTool("ask", nil); !got.IsError || !strings.Contains(got.Text(), test.want) {
					t.Errorf("the tool returned %q (error: %t), want an error that contains %q", got.Text(), got.IsError, test.want)
				}
			})
		}
	}
}

func TestAskOutsideOfACall(t *testing.T) {
	if err := mcp.Ask(context.Background(), nameForm()); err == nil {
		t.Error("Ask outside a call = nil, want an error")
	}
}

// A completer can ask in a session only, because the result of completion/complete cannot be
// questions.
func TestAskInCompletion(t *testing.T) {
	s := newServer(mcp.Options{})
	err := errors.Join(
		s.AddPrompt(mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a"}}}, func(context.Context, map[string]string) (*mcp.PromptResult, error) { return nil, nil }),
		s.CompletePrompt("p", func(ctx context.Context, _, _ string, _ map[string]string) ([]string, error) {
			dirs := &mcp.RootList{}
			err := mcp.Ask(ctx, dirs)
			return []string{fmt.Sprint(dirs.Roots)}, err
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	params := map[string]any{"ref": map[string]any{"type": "ref/prompt", "name": "p"}, "argument": map[string]any{"name": "a", "value": ""}}
	if err := answering(t, s, mcp.Revision20251125).Call("completion/complete", params, nil); err != nil {
		t.Errorf("in a session: %v", err)
	}
	if err := answering(t, s, mcp.Revision20260728).Call("completion/complete", params, nil); !errors.Is(err, jsonrpc.InternalError) || !strings.Contains(err.Error(), "cannot ask the client") {
		t.Errorf(`without one: %v; want an error with the code of %v, containing "cannot ask the client"`, err, jsonrpc.InternalError)
	}
}

// A state can be used once, even by concurrent calls.
func TestStateIsUsedOnce(t *testing.T) {
	s := newServer(mcp.Options{})
	if err := s.AddTool(mcp.Tool{Name: "ask"}, fixture.Handler(func(ctx context.Context) (string, error) { return "done", mcp.Ask(ctx, &mcp.RootList{Key: "dirs"}) })); err != nil {
		t.Fatal(err)
	}
	client := connectRaw(t, s)
	const call = `{"name":"ask","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}%s}`
	var asked struct {
		Result struct {
			State string `json:"requestState"`
		} `json:"result"`
	}
	if err := json.Unmarshal(client.ask(t, fmt.Appendf(nil, call, "")), &asked); err != nil || asked.Result.State == "" {
		t.Fatalf("the question has the state %q, %v; want a state and no error", asked.Result.State, err)
	}
	var all sync.WaitGroup
	var done, refused int
	const tries = 20
	for i := range tries {
		all.Go(func() {
			params := fmt.Sprintf(call, `,"inputResponses":{"dirs":{"roots":[]}},"requestState":"`+asked.Result.State+`"`)
			client.send(t, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"try%d","method":"tools/call","params":%s}`, i, params))
		})
	}
	all.Wait()
	for range tries {
		switch answer := string(client.receive(t)); {
		case strings.Contains(answer, `"text":"done"`):
			done++
		case strings.Contains(answer, `requestState has been used`):
			refused++
		default:
			t.Errorf("answer: %s", answer)
		}
	}
	if done != 1 || refused != tries-1 {
		t.Errorf("%d were served and %d refused; want 1 and %d", done, refused, tries-1)
	}
}
