package client_test

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

func doNothing(context.Context, json.RawMessage) (*mcp.ToolResult, error) { return nil, nil }

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
	addResources(s, must)
	addPrompts(s, must)
	return s
}

// fixtureTools are the tools that take anything.
func fixtureTools() map[string]mcp.ToolHandler {
	return map[string]mcp.ToolHandler{
		"nothing": doNothing,
		"fails": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			return nil, errors.New("no luck today")
		},
		"refuses": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			return nil, fmt.Errorf("looking at the clock: %w", jsonrpc.Errorf(-5, "come back tomorrow"))
		},
		"codes": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			return nil, fmt.Errorf("not these: %w", jsonrpc.InvalidParams)
		},
		"waits": func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(time.Minute):
				return mcp.TextResult("that was long"), nil
			}
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

const accountForm = `{"type":"object","properties":{` +
	`"account":{"type":"string","title":"Account","oneOf":[{"const":"w","title":"Work"},{"const":"h","title":"Home"}],"default":"w"},` +
	`"copies":{"type":"integer","minimum":1,"default":1},` +
	`"urgent":{"type":"boolean","default":false},` +
	`"note":{"type":"string","maxLength":10}},"required":["account"]}`

const tagsForm = `{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"maxItems":1}}}`

// askingTools are tools that ask the client.
func askingTools() map[string]mcp.ToolHandler {
	return map[string]mcp.ToolHandler{
		"ask": tool(func(ctx context.Context) (string, error) {
			form := mcp.Elicitation{Key: "which", Message: "Which account?", Schema: json.RawMessage(accountForm)}
			if err := mcp.Ask(ctx, &form); err != nil {
				return "", err
			}
			return fmt.Sprintf("%s %s", form.Action, form.Content), nil
		}),
		"ask.tags": tool(func(ctx context.Context) (string, error) {
			form := mcp.Elicitation{Message: "Which tags?", Schema: json.RawMessage(tagsForm)}
			if err := mcp.Ask(ctx, &form); err != nil {
				return "", err
			}
			var v struct {
				Tags []string `json:"tags"`
			}
			err := form.Decode(&v)
			return fmt.Sprint(v.Tags), err
		}),
		"ask.twice": tool(func(ctx context.Context) (string, error) {
			name := mcp.Elicitation{Key: "step1", Message: "Name?", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}
			if err := mcp.Ask(ctx, &name); err != nil {
				return "", fmt.Errorf("step 1: %w", err)
			}
			color := mcp.Elicitation{Key: "step2", Message: "Colour?", Schema: json.RawMessage(`{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`)}
			if err := mcp.Ask(ctx, &color); err != nil {
				return "", fmt.Errorf("step 2: %w", err)
			}
			return fmt.Sprintf("%s %s", name.Content, color.Content), nil
		}),
		"ask.url": tool(func(ctx context.Context) (string, error) {
			link := mcp.URLElicitation{Key: "link", Message: "Connect your account", URL: "https://example.org/connect"}
			err := mcp.Ask(ctx, &link)
			return string(link.Action), err
		}),
		"ask.model": tool(func(ctx context.Context) (string, error) {
			half := 0.5
			draft := mcp.Sampling{
				Key:              "draft",
				Messages:         []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: []mcp.Content{mcp.Text{Text: "Write a subject"}, mcp.Image{Data: []byte{1}, MIMEType: "image/png"}}}},
				MaxTokens:        40,
				SystemPrompt:     "Be brief.",
				Temperature:      &half,
				StopSequences:    []string{"."},
				ModelPreferences: &mcp.ModelPreferences{Hints: []mcp.ModelHint{{Name: "small"}}, SpeedPriority: &half},
			}
			err := mcp.Ask(ctx, &draft)
			return fmt.Sprintf("%s (%s, %s)", draft.Answer.Text(), draft.Answer.Model, draft.Answer.StopReason), err
		}),
		"ask.tools": tool(func(ctx context.Context) (string, error) {
			use := mcp.Sampling{
				Messages: []mcp.SamplingMessage{
					{Role: mcp.RoleUser, Content: []mcp.Content{mcp.Text{Text: "2 + 3?"}}},
					{Role: mcp.RoleAssistant, Content: []mcp.Content{mcp.ToolUse{ID: "u1", Name: "add", Input: json.RawMessage(`{"a":2,"b":3}`)}}},
					{Role: mcp.RoleUser, Content: []mcp.Content{mcp.ToolUseResult{ToolUseID: "u1", Content: []mcp.Content{mcp.Text{Text: "5"}}}}},
				},
				MaxTokens:  40,
				Tools:      []mcp.Tool{{Name: "add", InputSchema: json.RawMessage(addInputSchema)}},
				ToolChoice: "auto",
			}
			err := mcp.Ask(ctx, &use)
			return fmt.Sprintf("%+v", use.Answer.Content), err
		}),
		"ask.roots": tool(func(ctx context.Context) (string, error) {
			dirs := mcp.RootList{Key: "dirs"}
			err := mcp.Ask(ctx, &dirs)
			return fmt.Sprint(dirs.Roots), err
		}),
	}
}

// tool makes a handler of a function without arguments.
func tool(f func(context.Context) (string, error)) mcp.ToolHandler {
	return func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		text, err := f(ctx)
		if err != nil {
			return nil, err
		}
		return mcp.TextResult(strings.TrimSpace(text)), nil
	}
}
