package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

type addInput struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type addOutput struct {
	Sum float64 `json:"sum"`
}

func add(_ context.Context, in addInput) (addOutput, error) {
	return addOutput{in.A + in.B}, nil
}

const (
	addInputSchema  = `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"],"additionalProperties":false}`
	addOutputSchema = `{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"],"additionalProperties":false}`
)

func addTool() mcp.Tool {
	yes := true
	return mcp.Tool{
		Name:         "add",
		Title:        "Add two numbers",
		Description:  "Adds two numbers.",
		InputSchema:  json.RawMessage(addInputSchema),
		OutputSchema: json.RawMessage(addOutputSchema),
		Annotations:  &mcp.ToolAnnotations{ReadOnlyHint: &yes},
		Icons:        []mcp.Icon{{Src: "data:image/png;base64,AA==", MIMEType: "image/png", Sizes: []string{"1x1"}}},
		Meta:         mcp.Meta{"example.org/cost": 1},
	}
}

func nothing(context.Context, json.RawMessage) (*mcp.ToolResult, error) { return nil, nil }

// newFixture is a server with one of everything.
func newFixture(t testing.TB, o mcp.Options) *mcp.Server {
	t.Helper()
	s := mcp.NewServer(mcp.Implementation{
		Name: "fixture", Title: "The fixture", Version: "1.2.3", Description: "One of everything.", WebsiteURL: "https://example.org",
	}, o)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(mcp.AddTool(s, addTool(), add))
	for name, handler := range fixtureTools() {
		must(s.AddTool(mcp.Tool{Name: name, Description: "For tests."}, handler))
	}
	must(mcp.AddTool(s, mcp.Tool{Name: "counts", OutputSchema: json.RawMessage(`{"type":"integer"}`)}, func(context.Context, struct{}) (int, error) { return 412, nil }))
	must(s.AddTool(mcp.Tool{Name: "lies", OutputSchema: json.RawMessage(addOutputSchema)}, func(_ context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
		return &mcp.ToolResult{StructuredContent: arguments}, nil
	}))
	must(s.AddTool(mcp.Tool{
		Name:        "order",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"items":{"type":"array","minItems":1,"items":{"type":"object","properties":{"name":{"type":"string"},"price":{"type":"number","minimum":0}},"required":["name"],"additionalProperties":false}},"size":{"enum":["small","large"]}}}`),
	}, nothing))
	addResources(s, must)
	addPrompts(s, must)
	return s
}

// fixtureTools are the tools that take anything.
func fixtureTools() map[string]mcp.ToolHandler {
	return map[string]mcp.ToolHandler{
		"nothing": nothing,
		"fails": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			return nil, errors.New("no luck today")
		},
		"refuses": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			return nil, fmt.Errorf("looking at the clock: %w", jsonrpc.Errorf(-5, "come back tomorrow"))
		},
		"codes": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			return nil, fmt.Errorf("not these: %w", jsonrpc.InvalidParams)
		},
		"panics": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) { panic("oh") },
		"greets": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			const text = "hello <&> “you”"
			return &mcp.ToolResult{Content: []mcp.Content{mcp.Text{Text: text}}, StructuredContent: json.RawMessage(`"` + text + `"`)}, nil
		},
		"waits": func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(time.Minute):
				return mcp.TextResult("that was long"), nil
			}
		},
		"naps": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			time.Sleep(time.Second)
			return mcp.TextResult("rested"), nil
		},
		"empty": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			return &mcp.ToolResult{Content: []mcp.Content{mcp.Image{}, mcp.Audio{}, mcp.Text{}, mcp.EmbeddedResource{}}}, nil
		},
		"nil": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			return &mcp.ToolResult{Content: []mcp.Content{mcp.Text{}, nil}}, nil
		},
		"structures": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			return &mcp.ToolResult{StructuredContent: json.RawMessage(`{"only":"this"}`)}, nil
		},
		"reports": func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
			for _, done := range []float64{0, 1, 1, 0.5, 2} {
				mcp.Progress(ctx, done, 2, fmt.Sprintf("step %g", done))
			}
			return mcp.TextResult("done"), nil
		},
		"logs": func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
			log := mcp.Logger(ctx).With("tool", "logs").WithGroup("detail")
			log.DebugContext(ctx, "looking", "n", 1)
			log.Info("found", "n", 2)
			log.ErrorContext(ctx, "lost", "error", errors.New("gone"))
			return mcp.TextResult("logged"), nil
		},
		"shows": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			high, size := 0.9, int64(4)
			return &mcp.ToolResult{
				Content: []mcp.Content{
					mcp.Text{Text: "text", Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}, Priority: &high, LastModified: "2026-01-02T03:04:05Z"}, Meta: mcp.Meta{"k": "v"}},
					mcp.Image{Data: []byte{1, 2}, MIMEType: "image/png"},
					mcp.Audio{Data: []byte{3, 4}, MIMEType: "audio/wav"},
					mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "note://a", MIMEType: "text/plain", Text: "a"}},
					mcp.ResourceLink{Resource: mcp.Resource{URI: "note://b", Name: "b", Title: "B", Description: "the other", Size: &size}},
				},
				StructuredContent: json.RawMessage(`[1,2]`),
				Meta:              mcp.Meta{"k": "v"},
			}, nil
		},
	}
}

func addResources(s *mcp.Server, must func(error)) {
	read := func(text string) mcp.ResourceHandler {
		return func(_ context.Context, _ string, variables map[string]string) ([]mcp.ResourceContents, error) {
			if variables["id"] == "gone" {
				return nil, mcp.NotFound("note://gone")
			}
			return []mcp.ResourceContents{{MIMEType: "text/plain", Text: text + variables["id"] + variables["page"]}}, nil
		}
	}
	must(s.AddResource(mcp.Resource{
		URI: "note://readme", Name: "readme", Title: "Read me", Description: "What this is.", MIMEType: "text/plain",
		Annotations: &mcp.Annotations{LastModified: "2026-01-02T03:04:05Z"},
		Icons:       []mcp.Icon{{Src: "https://example.org/i.png"}},
	}, read("hello")))
	must(s.AddResource(mcp.Resource{URI: "note://logo", Name: "logo"}, func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{{MIMEType: "image/png", Blob: []byte{1, 2, 3}}, {URI: "note://logo/empty", Blob: []byte{}}}, nil
	}))
	must(s.AddResource(mcp.Resource{URI: "note://fails", Name: "fails"}, func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) {
		return nil, errors.New("the disk is on fire")
	}))
	must(s.AddResource(mcp.Resource{URI: "note://nothing", Name: "nothing"}, func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) {
		return nil, nil
	}))
	must(s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "note://by-id/{id}{?page}", Name: "note", Title: "A note"}, read("note ")))
	must(s.CompleteResource("note://by-id/{id}{?page}", func(_ context.Context, argument, prefix string, known map[string]string) ([]string, error) {
		var ids []string
		for i := range 150 {
			if id := fmt.Sprintf("%s%d", known["folder"], i); strings.HasPrefix(id, prefix) {
				ids = append(ids, id)
			}
		}
		return ids, nil
	}))
}

func addPrompts(s *mcp.Server, must func(error)) {
	must(s.AddPrompt(mcp.Prompt{
		Name: "greet", Title: "Greet someone", Description: "A greeting.",
		Arguments: []mcp.PromptArgument{{Name: "name", Title: "Whom", Description: "Whom to greet.", Required: true}, {Name: "tone"}},
	}, func(_ context.Context, arguments map[string]string) (*mcp.PromptResult, error) {
		return &mcp.PromptResult{
			Description: "For " + arguments["name"],
			Messages: []mcp.PromptMessage{
				{Role: mcp.RoleUser, Content: mcp.Text{Text: "Greet " + arguments["name"] + arguments["tone"]}},
				{Role: mcp.RoleAssistant, Content: mcp.ResourceLink{Resource: mcp.Resource{URI: "note://readme", Name: "readme"}}},
			},
		}, nil
	}))
	must(s.AddPrompt(mcp.Prompt{Name: "plain"}, func(context.Context, map[string]string) (*mcp.PromptResult, error) { return nil, nil }))
	must(s.CompletePrompt("greet", func(_ context.Context, argument, prefix string, _ map[string]string) ([]string, error) {
		if argument == "tone" {
			return nil, errors.New("tone deaf")
		}
		return []string{prefix + "a", prefix + "b"}, nil
	}))
}
