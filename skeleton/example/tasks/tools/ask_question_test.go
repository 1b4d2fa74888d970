package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app/apptest"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/skeleton/example/tasks/features/chats"
	"github.com/petrock/petrock/skeleton/example/tasks/tools"
)

// sampling returns the capabilities of a client with a model.
func sampling() mcp.Capabilities { return mcp.Capabilities{"sampling": json.RawMessage(`{}`)} }

// echo is a model that repeats the conversation.
func echo(_ context.Context, _ string, params json.RawMessage) (any, error) {
	var asked struct {
		Messages []struct {
			Role    string
			Content struct{ Text string }
		}
	}
	if err := json.Unmarshal(params, &asked); err != nil {
		return nil, err
	}
	var said []string
	for _, m := range asked.Messages {
		said = append(said, m.Role+" "+m.Content.Text)
	}
	text := "You said: " + strings.Join(said, ", ")
	return map[string]any{"role": "assistant", "model": "echo", "content": map[string]any{"type": "text", "text": text}}, nil
}

// The client's model gets the conversation so far, in both protocol eras, and each question is
// recorded once.
func TestAskQuestion(t *testing.T) {
	for _, revision := range []mcp.Revision{mcp.LatestHandshake, mcp.Latest} {
		client := apptest.Serve(t, chats.Feature())
		client.Register(tools.Register)
		asking := client.Connect(mcptest.Options{Revision: revision, Capabilities: sampling(), Handle: echo})
		for _, step := range []mcptest.Example{
			{Name: "a new conversation", Input: `{"question":"Who?"}`, Output: `{"chat_id":"id1","question_id":"id1","status":"answered","answer":"You said: user Who?"}`},
			{Name: "continued", Input: `{"question":"Where?","chat_id":"id1"}`, Output: `{"chat_id":"id1","question_id":"id2","status":"answered","answer":"You said: user Who?, assistant You said: user Who?, user Where?"}`},
			{Name: "another conversation", Input: `{"question":"When?"}`, Output: `{"chat_id":"id3","question_id":"id3","status":"answered","answer":"You said: user When?"}`},
			{Name: "unknown conversation", Input: `{"question":"Why?","chat_id":"id2"}`, Error: `conversation "id2" does not exist`},
			{Name: "empty question", Input: `{"question":""}`, Error: "invalid arguments"},
		} {
			t.Run(fmt.Sprint(step.Name, " in ", revision), func(t *testing.T) { asking.CheckTool(t, "ask_question", step) })
		}
		if events, err := client.Store.Last(t.Context()); err != nil || events != 3 {
			t.Errorf("in %s, the log has %d events, %v; want 3 and no error", revision, events, err)
		}
	}
}

// Without sampling, or if the client refuses, the question stays open. After another agent has
// answered it, the conversation continues.
func TestAskQuestionAnsweredByAnotherAgent(t *testing.T) {
	refuse := func(context.Context, string, json.RawMessage) (any, error) {
		return nil, jsonrpc.Errorf(-1, "the person said no")
	}
	for name, o := range map[string]mcptest.Options{
		"a session without sampling": {},
		"requests without sampling":  {Revision: mcp.Latest},
		"a session that refuses":     {Capabilities: sampling(), Handle: refuse},
	} {
		t.Run(name, func(t *testing.T) {
			client := apptest.Serve(t, chats.Feature())
			client.Register(tools.Register)
			result := client.Connect(o).CallTool("ask_question", tools.AskQuestionInput{Question: "Who?"})
			for _, part := range []string{`"chat_id":"id1"`, `"question_id":"id1"`, `"status":"open"`, "answer_question", "get_chat"} {
				if !strings.Contains(result.Text(), part) || result.IsError {
					t.Errorf("the result is %s (error: %t); want %q in it, and no error", result.Text(), result.IsError, part)
				}
			}
			client.Given("answer_question", `{"question_id":"id1","answer":"I.","agent":"bob"}`)
			client.CheckTool(t, "get_chat", mcptest.Example{Input: `{"chat_id":"id1"}`, Output: `{"chat_id":"id1","questions":[{"id":"id1","chat_id":"id1","status":"answered","question":"Who?","answer":"I.","answered_by":"bob","asked_at":"2026-01-01T00:00:00Z","answered_at":"2026-01-01T00:00:01Z"}]}`})
			asking := client.Connect(mcptest.Options{Capabilities: sampling(), Handle: echo})
			asking.CheckTool(t, "ask_question", mcptest.Example{Input: `{"question":"Where?","chat_id":"id1"}`, Output: `{"chat_id":"id1","question_id":"id3","status":"answered","answer":"You said: user Who?, assistant I., user Where?"}`})
		})
	}
}

// An empty answer of the model is an error, and nothing is recorded.
func TestAskQuestionEmptyAnswer(t *testing.T) {
	client := apptest.Serve(t, chats.Feature())
	client.Register(tools.Register)
	silent := func(context.Context, string, json.RawMessage) (any, error) {
		return map[string]any{"role": "assistant", "model": "m", "content": []any{}}, nil
	}
	asking := client.Connect(mcptest.Options{Capabilities: sampling(), Handle: silent})
	asking.CheckTool(t, "ask_question", mcptest.Example{Input: `{"question":"Who?"}`, Error: "returned no text; rephrase"})
	if events, err := client.Store.Last(t.Context()); err != nil || events != 0 {
		t.Errorf("the log has %d events, %v; want none and no error", events, err)
	}
}
