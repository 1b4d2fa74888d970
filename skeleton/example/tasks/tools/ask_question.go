// Package tools has the tools of the server that are not part of a feature.
package tools

import (
	"context"
	"errors"
	"fmt"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/skeleton/example/tasks/features/chats"
)

// AskQuestionInput is the input of ask_question.
type AskQuestionInput struct {
	Question string `json:"question" schema:"min=1,max=20000"` // The question
	ChatID   string `json:"chat_id,omitempty"`                 // Id of the conversation to continue; omit it to start one
}

// AskQuestionOutput is the output of ask_question.
type AskQuestionOutput struct {
	ChatID     string               `json:"chat_id"`     // Id of the conversation; pass it with the next question
	QuestionID string               `json:"question_id"` // Id of the question
	Status     chats.QuestionStatus `json:"status"`
	Answer     string               `json:"answer,omitempty"` // Absent if the question is open
	Next       string               `json:"next,omitempty"`   // How to get an answer, if the question is open
}

// AskQuestion asks the client's model a question. With chat_id, the model also gets the
// conversation so far. If the client does not support sampling, or refuses, the question stays open
// for another agent to answer.
//
//petrock:hints additive
func AskQuestion(ctx context.Context, in AskQuestionInput) (AskQuestionOutput, error) {
	asked, err := conversation(ctx, in)
	if err != nil {
		return AskQuestionOutput{}, err
	}
	// In revision 2026-07-28 the call ends here, and the client calls again with the answer. The
	// code above runs twice, so it must not change anything.
	err = mcp.Ask(ctx, asked)
	var cannot *mcp.CannotAskError
	var refused *mcp.RefusedError
	switch {
	case errors.As(err, &cannot), errors.As(err, &refused):
		return record(ctx, chats.Record{ChatID: in.ChatID, Question: in.Question})
	case err != nil:
		return AskQuestionOutput{}, err
	case asked.Answer.Text() == "":
		return AskQuestionOutput{}, errors.New("the client's model returned no text; rephrase the question")
	}
	return record(ctx, chats.Record{ChatID: in.ChatID, Question: in.Question, Answer: asked.Answer.Text(), AnsweredBy: asked.Answer.Model})
}

// conversation returns the messages for the model: the answered questions so far, then the new one.
func conversation(ctx context.Context, in AskQuestionInput) (*mcp.Sampling, error) {
	asked := &mcp.Sampling{Key: "answer", MaxTokens: 2000}
	say := func(role mcp.Role, text string) {
		asked.Messages = append(asked.Messages, mcp.SamplingMessage{Role: role, Content: []mcp.Content{mcp.Text{Text: text}}})
	}
	if in.ChatID != "" {
		chat, err := app.Query(ctx, chats.Get{ChatID: in.ChatID})
		if err != nil {
			return nil, err
		}
		for _, q := range chat.Questions {
			if q.Status == chats.QuestionStatusAnswered {
				say(mcp.RoleUser, q.Question)
				say(mcp.RoleAssistant, q.Answer)
			}
		}
	}
	say(mcp.RoleUser, in.Question)
	return asked, nil
}

// record stores a question and returns the output of the tool.
func record(ctx context.Context, c chats.Record) (AskQuestionOutput, error) {
	stored, err := app.Do(ctx, c)
	if err != nil {
		return AskQuestionOutput{}, err
	}
	out := AskQuestionOutput{ChatID: stored.ChatID, QuestionID: stored.ID, Status: stored.Status, Answer: stored.Answer}
	if stored.Status == chats.QuestionStatusOpen {
		out.Next = fmt.Sprintf("The client's model did not answer, so the question is open. Another agent can find it with list_questions and answer it with answer_question, question_id %q. Then call get_chat with chat_id %q.", stored.ID, stored.ChatID)
	}
	return out, nil
}
