package chats_test

import (
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/apptest"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/skeleton/example/tasks/features/chats"
)

// A question is open until an agent answers it, and always in its conversation.
func TestAnswer(t *testing.T) {
	client := apptest.Serve(t, chats.Feature())
	record(t, client, chats.Record{Question: "Who?", Answer: "I.", AnsweredBy: "a model"})
	record(t, client, chats.Record{ChatID: "id1", Question: "Where?"})
	record(t, client, chats.Record{Question: "When?"})
	const (
		who   = `{"id":"id1","chat_id":"id1","status":"answered","question":"Who?","answer":"I.","answered_by":"a model","asked_at":"2026-01-01T00:00:00Z","answered_at":"2026-01-01T00:00:00Z"}`
		where = `{"id":"id2","chat_id":"id1","status":"open","question":"Where?","asked_at":"2026-01-01T00:00:01Z"}`
		when  = `{"id":"id3","chat_id":"id3","status":"open","question":"When?","asked_at":"2026-01-01T00:00:02Z"}`
		here  = `{"id":"id2","chat_id":"id1","status":"answered","question":"Where?","answer":"Here.","answered_by":"bob","asked_at":"2026-01-01T00:00:01Z","answered_at":"2026-01-01T00:00:03Z"}`
	)
	for _, step := range []struct {
		tool string
		mcptest.Example
	}{
		{"list_questions", mcptest.Example{Name: "list", Input: `{}`, Output: `{"items":[` + where + `,` + when + `],"open":2}`}},
		{"list_questions", mcptest.Example{Name: "list the oldest", Input: `{"limit":1}`, Output: `{"items":[` + where + `],"open":2}`}},
		{"get_chat", mcptest.Example{Name: "before", Input: `{"chat_id":"id1"}`, Output: `{"chat_id":"id1","questions":[` + who + `,` + where + `]}`}},
		{"answer_question", mcptest.Example{Name: "answer", Input: `{"question_id":"id2","answer":"Here.","agent":"bob"}`, Output: here}},
		{"answer_question", mcptest.Example{Name: "answer again", Input: `{"question_id":"id2","answer":"There."}`, Error: "already answered; call list_questions"}},
		{"answer_question", mcptest.Example{Name: "unknown question", Input: `{"question_id":"id9","answer":"Here."}`, Error: `question "id9" does not exist; call list_questions`}},
		{"answer_question", mcptest.Example{Name: "empty answer", Input: `{"question_id":"id3","answer":""}`, Error: "invalid arguments"}},
		{"get_chat", mcptest.Example{Name: "after", Input: `{"chat_id":"id1"}`, Output: `{"chat_id":"id1","questions":[` + who + `,` + here + `]}`}},
		{"get_chat", mcptest.Example{Name: "unknown conversation", Input: `{"chat_id":"id2"}`, Error: `conversation "id2" does not exist`}},
		{"list_questions", mcptest.Example{Name: "list the rest", Input: `{}`, Output: `{"items":[` + when + `],"open":1}`}},
	} {
		t.Run(step.Name, func(t *testing.T) { client.CheckTool(t, step.tool, step.Example) })
	}
	got, err := app.Query(app.With(t.Context(), client.App), chats.List{})
	if err != nil || len(got.Items) != 1 {
		t.Errorf("app.Query(ctx, chats.List{}) = %+v, %v, want the one open question", got, err)
	}
}
