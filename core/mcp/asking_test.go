package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/petrock/petrock/core/mcp"
)

const accountForm = `{"type":"object","properties":{` +
	`"account":{"type":"string","title":"Account","oneOf":[{"const":"w","title":"Work"},{"const":"h","title":"Home"}],"default":"w"},` +
	`"copies":{"type":"integer","minimum":1,"default":1},` +
	`"urgent":{"type":"boolean","default":false},` +
	`"note":{"type":"string","maxLength":10}},"required":["account"]}`

const tagsForm = `{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"maxItems":1}}}`

// askingTools are tools that cannot do without the client.
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
		"ask.degrades": tool(func(ctx context.Context) (string, error) {
			dirs := mcp.RootList{Key: "dirs"}
			err := mcp.Ask(ctx, &dirs)
			var cannot *mcp.CannotAskError
			if errors.As(err, &cannot) {
				return "without roots", nil
			}
			return fmt.Sprint(dirs.Roots), err
		}),
		"ask.swallows": tool(func(ctx context.Context) (string, error) {
			if err := mcp.Ask(ctx, &mcp.RootList{}); err != nil {
				return "swallowed: " + err.Error(), nil
			}
			return "answered", nil
		}),
		"ask.again": tool(func(ctx context.Context) (string, error) {
			return "", mcp.Ask(ctx, &mcp.RootList{Key: "same"}, &mcp.RootList{Key: "same"})
		}),
	}
}

// tool makes a handler of a function that needs no arguments.
func tool(f func(context.Context) (string, error)) mcp.ToolHandler {
	return func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		text, err := f(ctx)
		if err != nil {
			return nil, err
		}
		return mcp.TextResult(strings.TrimSpace(text)), nil
	}
}
