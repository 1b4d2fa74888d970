package peers_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// By default, a client uses the newest revision.
func TestDiscover(t *testing.T) {
	s := connect(t, "", nil)
	r := s.InitializeResult() // in this era, the result of server/discover
	if r.ProtocolVersion != stateless || r.ServerInfo == nil || r.ServerInfo.Name != "fixture" || r.Instructions != "Call anything." {
		t.Errorf("got %+v of %+v", r, r.ServerInfo)
	}
	if c := r.Capabilities; c.Tools == nil || !c.Tools.ListChanged || c.Resources == nil || !c.Resources.Subscribe || c.Prompts == nil || c.Completions == nil {
		t.Errorf("capabilities %+v", c)
	}
}

func TestLevelOfRequest(t *testing.T) {
	heard := make(chan *mcp.LoggingMessageParams, 10)
	s := connect(t, stateless, &mcp.ClientOptions{
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { heard <- r.Params },
	})
	call(t, s, "say", nil) // without a log level
	p := &mcp.CallToolParams{Name: "say", Meta: mcp.Meta{mcp.MetaKeyLogLevel: "warning"}}
	if _, err := s.CallTool(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, heard, "message"); got.Level != "warning" {
		t.Errorf("message %+v", got)
	}
	if len(heard) > 0 {
		t.Errorf("one message too many: %+v", <-heard)
	}
}

// If a client requests an unknown revision, the server lists the supported ones.
func TestFromTheFuture(t *testing.T) {
	s := connect(t, "2099-01-01", nil)
	if got := s.InitializeResult().ProtocolVersion; got != stateless {
		t.Errorf("agreed on %s", got)
	}
	if got := textOf(t, call(t, s, "revision", nil)); got != stateless {
		t.Errorf("called in the revision %s", got)
	}
}

func TestRoundsByHand(t *testing.T) {
	o := answerAll(nil)
	o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	s := withRoots(t, stateless, o)
	p := &mcp.CallToolParams{Name: "ask_twice"}
	states := map[string]bool{"": true}
	for _, answer := range []map[string]any{{"name": "Ada"}, {"color": "blue"}} {
		r, err := s.CallTool(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if !r.NeedsInput() || len(r.InputRequests) != 1 {
			t.Fatalf("wanted a question, got %+v", r)
		}
		if states[r.RequestState] {
			t.Errorf("duplicate state %q", r.RequestState)
		}
		states[r.RequestState] = true
		p = &mcp.CallToolParams{Name: "ask_twice", RequestState: r.RequestState, InputResponses: mcp.InputResponseMap{}}
		for key := range r.InputRequests {
			p.InputResponses[key] = &mcp.ElicitResult{Action: "accept", Content: answer}
		}
	}
	r, err := s.CallTool(t.Context(), p)
	if err != nil || textOf(t, r) != `{"color":"blue","name":"Ada"}` {
		t.Errorf("got %+v, %v", r, err)
	}

	p.RequestState += "-tampered"
	_, err = s.CallTool(t.Context(), p)
	wantCode(t, err, -32602)
}
