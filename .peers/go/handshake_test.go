package peers_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestInitialize(t *testing.T) {
	for _, version := range handshakes {
		t.Run(version, func(t *testing.T) {
			s := connect(t, version, nil)
			r := s.InitializeResult()
			if r.ProtocolVersion != version || r.ServerInfo.Name != "fixture" || r.Instructions != "Call anything." {
				t.Errorf("got %+v of %+v", r, r.ServerInfo)
			}
			if c := r.Capabilities; c.Tools == nil || !c.Tools.ListChanged || c.Resources == nil || !c.Resources.Subscribe || c.Prompts == nil || c.Logging == nil {
				t.Errorf("capabilities %+v", c)
			}
		})
	}
}

func TestPing(t *testing.T) {
	for _, version := range handshakes {
		if err := connect(t, version, nil).Ping(later(t), nil); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestSetLevel(t *testing.T) {
	for _, version := range handshakes {
		t.Run(version, func(t *testing.T) {
			heard := make(chan *mcp.LoggingMessageParams, 10)
			s := connect(t, version, &mcp.ClientOptions{
				LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { heard <- r.Params },
			})
			if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
				t.Fatal(err)
			}
			call(t, s, "say", nil)
			for _, want := range []mcp.LoggingLevel{"info", "warning"} {
				got := receive(t, heard, "message")
				if data, _ := got.Data.(map[string]any); got.Level != want || got.Logger != "fixture" || data["msg"] == nil {
					t.Errorf("message %+v, want one of level %s", got, want)
				}
			}
		})
	}
}
