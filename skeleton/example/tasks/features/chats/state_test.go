package chats_test

import (
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/apptest"
	"github.com/petrock/petrock/skeleton/example/tasks/features/chats"
)

// record records a question, as ask_question does.
func record(t *testing.T, client *apptest.Client, c chats.Record) chats.Question {
	t.Helper()
	question, err := app.Do(app.With(t.Context(), client.App), c)
	if err != nil {
		t.Fatal(err)
	}
	return question
}

// When the test ends, apptest replays the log from the start and from a snapshot, and compares the
// states.
func TestReplay(t *testing.T) {
	client := apptest.Serve(t, chats.Feature())
	record(t, client, chats.Record{Question: "Who?", Answer: "I.", AnsweredBy: "a model"})
	record(t, client, chats.Record{ChatID: "id1", Question: "Where?"})
	record(t, client, chats.Record{Question: "When?"})
	client.Given("answer_question", `{"question_id":"id2","answer":"Here."}`)
}
