package peers_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// both are the capabilities of a client that supports forms and URLs.
func both() *mcp.ClientCapabilities {
	return &mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
		RootsV2:     &mcp.RootCapabilities{},
	}
}

// answerAll returns options of a client that answers every question and sends the questions to
// asked.
func answerAll(asked chan<- *mcp.ElicitParams) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: both(),
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if asked != nil {
				asked <- r.Params
			}
			result := &mcp.ElicitResult{Action: "accept"}
			switch {
			case r.Params.Mode == "url":
			case strings.Contains(r.Params.Message, "color, Ada"):
				result.Content = map[string]any{"color": "blue"}
			default:
				result.Content = map[string]any{"name": "Ada"}
			}
			return result, nil
		},
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			text := "no message"
			if len(r.Params.Messages) == 1 {
				if block, ok := r.Params.Messages[0].Content.(*mcp.TextContent); ok {
					text = "Re: " + block.Text
				}
			}
			return &mcp.CreateMessageResult{Role: "assistant", Model: "model-1", StopReason: "endTurn", Content: &mcp.TextContent{Text: text}}, nil
		},
	}
}

func withRoots(t *testing.T, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "go-peer", Version: "1"}, o)
	client.AddRoots(&mcp.Root{URI: "file:///srv/notes", Name: "notes"})
	return connectAs(t, version, client)
}

type answer struct {
	Action  string
	Content map[string]any
}

// answered returns the answers that a tool received. Older revisions without structured content
// have no elicitation either.
func answered(t *testing.T, s *mcp.ClientSession, tool string) answer {
	t.Helper()
	return decode[answer](t, call(t, s, tool, nil))
}

func TestForm(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		if version < "2025-06-18" {
			s := withRoots(t, version, answerAll(nil))
			if r := call(t, s, "ask_form", nil); !r.IsError {
				t.Errorf("a revision without elicitation: %+v", r)
			}
			return
		}
		asked := make(chan *mcp.ElicitParams, 1)
		s := withRoots(t, version, answerAll(asked))
		got := answered(t, s, "ask_form")
		want := answer{"accept", map[string]any{
			"name": "Ada", "age": 30.0, "score": 95.5, "news": true, "plain": "green", "titled": "l", "named": "b",
		}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		if p := receive(t, asked, "question"); p.Message != "Who are you?" || p.RequestedSchema == nil {
			t.Errorf("asked %+v", p)
		}
	})
}

func TestFormOfLists(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		s := withRoots(t, version, answerAll(nil))
		r := call(t, s, "ask_lists", nil)
		if version < "2025-11-25" {
			if !r.IsError {
				t.Errorf("a revision without lists: %+v", r)
			}
			return
		}
		want := answer{"accept", map[string]any{"name": "Ada", "several": []any{"x", "z"}, "titles": []any{"q"}}}
		if got := decode[answer](t, r); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	})
}

func TestDecline(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		if version < "2025-06-18" {
			return // has no elicitation: see TestForm
		}
		for _, action := range []string{"decline", "cancel"} {
			s := connect(t, version, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: action}, nil
				},
			})
			if got := answered(t, s, "ask_form"); got.Action != action || got.Content != nil {
				t.Errorf("got %+v, want %s", got, action)
			}
		}
	})
}

func TestLink(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		asked := make(chan *mcp.ElicitParams, 1)
		s := withRoots(t, version, answerAll(asked))
		if version < "2025-11-25" {
			if r := call(t, s, "ask_link", nil); !r.IsError {
				t.Errorf("a revision without links: %+v", r)
			}
			return
		}
		if got := answered(t, s, "ask_link"); got.Action != "accept" {
			t.Errorf("got %+v", got)
		}
		p := receive(t, asked, "question")
		if p.Mode != "url" || p.URL != "https://example.org/connect" || p.Message != "Connect your account" {
			t.Errorf("asked %+v", p)
		}
		if hasID := p.ElicitationID != ""; hasID != (version < stateless) {
			t.Errorf("elicitationId %q", p.ElicitationID)
		}
	})
}

func TestModel(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		s := withRoots(t, version, answerAll(nil))
		const want = `{"model":"model-1","stopReason":"endTurn","text":"Re: Write a subject line"}`
		if got := textOf(t, call(t, s, "ask_model", nil)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestRoots(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		s := withRoots(t, version, answerAll(nil))
		const want = `{"roots":[{"uri":"file:///srv/notes","name":"notes"}]}`
		if got := textOf(t, call(t, s, "ask_roots", nil)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestAskAll(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		s := withRoots(t, version, answerAll(nil))
		r := call(t, s, "ask_all", nil)
		if version < "2025-06-18" {
			if !r.IsError {
				t.Errorf("a revision without elicitation: %+v", r)
			}
			return
		}
		const want = `{"name":"Ada","roots":["file:///srv/notes"],"draft":"Re: Write a subject line","model":"model-1"}`
		if got := textOf(t, r); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestAskTwice(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		if version < "2025-06-18" {
			return // has no elicitation: see TestForm
		}
		s := withRoots(t, version, answerAll(nil))
		const want = `{"color":"blue","name":"Ada"}`
		if got := textOf(t, call(t, s, "ask_twice", nil)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestAskElsewhere(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		if version < "2025-06-18" {
			return // has no elicitation: see TestForm
		}
		s := withRoots(t, version, answerAll(nil))
		r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "note://asked"})
		if err != nil || r.Contents[0].Text != "for Ada" {
			t.Errorf("resource: %+v, %v", r, err)
		}
		p, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "asked"})
		if err != nil || p.Messages[0].Content.(*mcp.TextContent).Text != "for Ada" {
			t.Errorf("prompt: %+v, %v", p, err)
		}
	})
}

// Tools that ask fail for a client without elicitation, and the client is not asked.
func TestCannotBeAsked(t *testing.T) {
	eachRevision(t, func(t *testing.T, version string) {
		s := connect(t, version, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
		for _, tool := range []string{"ask_form", "ask_link", "ask_model", "ask_roots", "ask_all", "ask_twice"} {
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
			if version >= stateless {
				wantCode(t, err, -32021)
			} else if err != nil || !r.IsError {
				t.Errorf("%s: %+v, %v", tool, r, err)
			}
		}
		s = connect(t, version, &mcp.ClientOptions{
			Capabilities:       &mcp.ClientCapabilities{},
			ElicitationHandler: answerAll(nil).ElicitationHandler, // only forms
		})
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask_link"})
		if version >= stateless {
			wantCode(t, err, -32021)
		} else if err != nil || !r.IsError {
			t.Errorf("a client with only forms: %+v, %v", r, err)
		}
	})
}
