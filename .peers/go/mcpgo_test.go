package peers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// A mcpgo is a client of mcp-go, over HTTP.
type mcpgo struct {
	*client.Client
	heard chan mcp.JSONRPCNotification
}

// eachEra runs a test of mcp-go's client in both eras.
func eachEra(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range []string{"2025-11-25", stateless} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

// mcpgoTo connects a client of mcp-go to a server. carrier may be nil.
func mcpgoTo(t *testing.T, address, version string, c http.RoundTripper) *mcpgo {
	t.Helper()
	m, err := tryMCPGo(t, address, version, c)
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	return m
}

func tryMCPGo(t *testing.T, address, version string, c http.RoundTripper) (*mcpgo, error) {
	t.Helper()
	var options []transport.StreamableHTTPCOption
	if version < stateless {
		options = append(options, transport.WithContinuousListening())
	}
	if c != nil {
		options = append(options, transport.WithHTTPBasicClient(&http.Client{Transport: c}))
	}
	tr, err := transport.NewStreamableHTTP(address, options...)
	if err != nil {
		t.Fatal(err)
	}
	m := &mcpgo{heard: make(chan mcp.JSONRPCNotification, 100)}
	m.Client = client.NewClient(tr, client.WithProtocolVersion(version),
		client.WithElicitationHandler(answers{}), client.WithSamplingHandler(answers{}))
	m.OnNotification(func(n mcp.JSONRPCNotification) { m.heard <- n })
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	request := mcp.InitializeRequest{}
	request.Params.ProtocolVersion = version
	request.Params.ClientInfo = mcp.Implementation{Name: "mcpgo-peer", Version: "1"}
	_, err = m.Initialize(later(t), request)
	return m, err
}

// answers has handlers that answer every question.
type answers struct{}

func (answers) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	r := &mcp.ElicitationResult{}
	r.Action, r.Content = mcp.ElicitationResponseActionAccept, map[string]any{"name": "Ada"}
	return r, nil
}

func (answers) CreateMessage(_ context.Context, r mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	out := &mcp.CreateMessageResult{Model: "model-1", StopReason: "endTurn"}
	text, err := json.Marshal(r.Messages[0].Content)
	if err != nil {
		return nil, err
	}
	out.Role, out.Content = mcp.RoleAssistant, mcp.TextContent{Type: "text", Text: fmt.Sprint("asked: ", strings.Contains(string(text), "subject line"))}
	return out, nil
}

// say calls a tool and returns the text of its result.
func (m *mcpgo) say(t *testing.T, tool string, arguments any, meta *mcp.Meta) string {
	t.Helper()
	r, err := m.CallTool(later(t), mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: arguments, Meta: meta}})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	text, ok := r.Content[0].(mcp.TextContent)
	if !ok || r.IsError {
		t.Fatalf("%s returned %+v", tool, r)
	}
	return text.Text
}

// next returns the next notification with a method.
func (m *mcpgo) next(t *testing.T, method string) map[string]any {
	t.Helper()
	for {
		n := receive(t, m.heard, method)
		if n.Method == method {
			return n.Params.AdditionalFields
		}
	}
}

func TestMCPGo(t *testing.T) {
	address := serveFixture(t)
	eachEra(t, func(t *testing.T, version string) {
		m := mcpgoTo(t, address, version, nil)
		if got := m.say(t, "revision", nil, nil); got != version {
			t.Errorf("called in %s", got)
		}
		if got := m.say(t, "add", map[string]any{"a": 2, "b": 40}, nil); got != `{"sum":42}` {
			t.Errorf("add returned %s", got)
		}
		tools, err := m.ListTools(later(t), mcp.ListToolsRequest{})
		if err != nil || len(tools.Tools) < 10 {
			t.Errorf("tools %+v, %v", tools, err)
		}
		resources, err := m.ListResources(later(t), mcp.ListResourcesRequest{})
		if err != nil || len(resources.Resources) < 5 {
			t.Errorf("resources %+v, %v", resources, err)
		}
		prompts, err := m.ListPrompts(later(t), mcp.ListPromptsRequest{})
		if err != nil || len(prompts.Prompts) < 1 {
			t.Errorf("prompts %+v, %v", prompts, err)
		}
		read := mcp.ReadResourceRequest{}
		read.Params.URI = "note://by-id/7"
		contents, err := m.ReadResource(later(t), read)
		if err != nil || len(contents.Contents) != 1 || contents.Contents[0].(mcp.TextResourceContents).Text != "note 7" {
			t.Errorf("read %+v, %v", contents, err)
		}
		get := mcp.GetPromptRequest{}
		get.Params.Name, get.Params.Arguments = "greet", map[string]string{"name": "Ada"}
		prompt, err := m.GetPrompt(later(t), get)
		if err != nil || len(prompt.Messages) != 2 {
			t.Errorf("prompt %+v, %v", prompt, err)
		}
	})
}

func TestMCPGoStreams(t *testing.T) {
	address := serveFixture(t)
	eachEra(t, func(t *testing.T, version string) {
		m := mcpgoTo(t, address, version, nil)
		m.say(t, "count", map[string]any{"to": 3}, &mcp.Meta{ProgressToken: "token-1"})
		for i := range 3 {
			if got := m.next(t, "notifications/progress"); got["progress"] != float64(i+1) || got["progressToken"] != "token-1" {
				t.Errorf("progress %v", got)
			}
		}
		var meta *mcp.Meta
		if version < stateless {
			level := mcp.SetLevelRequest{}
			level.Params.Level = mcp.LoggingLevelWarning
			if err := m.SetLevel(later(t), level); err != nil {
				t.Fatal(err)
			}
		} else {
			meta = &mcp.Meta{AdditionalFields: map[string]any{"io.modelcontextprotocol/logLevel": "warning"}}
		}
		m.say(t, "say", nil, meta)
		if got := m.next(t, "notifications/message"); got["level"] != "warning" {
			t.Errorf("message %v", got)
		}
		if got := m.say(t, "ask_form", nil, nil); !strings.Contains(got, `"name":"Ada"`) {
			t.Errorf("ask_form returned %s", got)
		}
		if got := m.say(t, "ask_model", nil, nil); !strings.Contains(got, "asked: true") {
			t.Errorf("ask_model returned %s", got)
		}
	})
}

func TestMCPGoUpdates(t *testing.T) {
	address := serveFixture(t)
	eachEra(t, func(t *testing.T, version string) {
		m := mcpgoTo(t, address, version, nil)
		uri := "note://by-id/" + version
		if version < stateless {
			subscribe := mcp.SubscribeRequest{}
			subscribe.Params.URI = uri
			if err := m.Subscribe(later(t), subscribe); err != nil {
				t.Fatal(err)
			}
		} else {
			stop, err := m.ListenAsync(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(stop)
		}
		if version >= stateless { // the client does not report when it listens, but passes on the server's message
			m.next(t, "notifications/subscriptions/acknowledged")
		}
		m.say(t, "touch", map[string]any{"uri": uri}, nil)
		if got := m.next(t, "notifications/resources/updated"); got["uri"] != uri {
			t.Errorf("update %v", got)
		}
	})
}

// This client reconnects if the server closes the stream. It does not if the connection is cut.
func TestMCPGoResumes(t *testing.T) {
	m := mcpgoTo(t, serveFixture(t), "2025-11-25", nil)
	if got := m.say(t, "suspend", nil, nil); got != "back again" {
		t.Errorf("suspend returned %s", got)
	}
}

func TestMCPGoSessionEnds(t *testing.T) {
	address := serveFixture(t)
	eachEra(t, func(t *testing.T, version string) {
		c := &carrier{}
		m := mcpgoTo(t, address, version, c)
		m.say(t, "add", map[string]any{"a": 2, "b": 40}, nil)
		m.Close()
		if version < stateless {
			c.wantEnded(t, address, 1)
		} else {
			c.wantEnded(t, address, 0)
		}
	})
}

func TestMCPGoKeys(t *testing.T) {
	address := serveFixture(t, "FIXTURE_API_KEY="+goodKey)
	eachEra(t, func(t *testing.T, version string) {
		if _, err := tryMCPGo(t, address, version, &carrier{name: "X-Api-Token", value: "0123456789abcdef"}); err == nil || !strings.Contains(err.Error(), "401") && !strings.Contains(err.Error(), "authorization required") {
			t.Errorf("with a wrong key: %v", err)
		}
		m := mcpgoTo(t, address, version, &carrier{name: "X-Api-Token", value: goodKey})
		if got := m.say(t, "add", map[string]any{"a": 2, "b": 40}, nil); got != `{"sum":42}` {
			t.Errorf("add returned %s", got)
		}
	})
}
