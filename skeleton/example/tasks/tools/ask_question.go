// Package tools holds the tools that the server offers beside those of its features.
package tools

import (
	"context"
	"errors"
	"fmt"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/skeleton/example/tasks/features/chats"
)

// AskQuestionInput is what ask_question takes.
type AskQuestionInput struct {
	Question string `json:"question" schema:"min=1,max=20000"` // What to ask
	ChatID   string `json:"chat_id,omitempty"`                 // The conversation to go on with; a new one if left out
}

// AskQuestionOutput is what ask_question returns.
type AskQuestionOutput struct {
	ChatID     string               `json:"chat_id"`     // The conversation: give it along with the next question
	QuestionID string               `json:"question_id"` // The question, for answer_question
	Status     chats.QuestionStatus `json:"status"`
	Answer     string               `json:"answer,omitempty"` // Left out if nobody has answered yet
	Next       string               `json:"next,omitempty"`   // How the question is answered, if it is open
}

// AskQuestion asks the client's model a question, with the conversation so far if it has a chat_id. If the client has no model to
// ask, or refuses, the question is kept for another agent to answer.
//
//petrock:hints additive
func AskQuestion(ctx context.Context, in AskQuestionInput) (AskQuestionOutput, error) {
	asked, err := conversation(ctx, in)
	if err != nil {
		return AskQuestionOutput{}, err
	}
	// In revision 2026-07-28 the call ends here with the question, and comes again with the answer: what is before this line is
	// done twice, and so only reads. What is behind it is done once.
	err = mcp.Ask(ctx, asked)
	var cannot *mcp.CannotAskError
	var refused *mcp.RefusedError
	switch {
	case errors.As(err, &cannot), errors.As(err, &refused):
		return record(ctx, chats.Record{ChatID: in.ChatID, Question: in.Question})
	case err != nil:
		return AskQuestionOutput{}, err
	case asked.Answer.Text() == "":
		return AskQuestionOutput{}, errors.New("the client's model has answered without a text; ask again, in other words")
	}
	return record(ctx, chats.Record{ChatID: in.ChatID, Question: in.Question, Answer: asked.Answer.Text(), AnsweredBy: asked.Answer.Model})
}

// conversation is what the model is asked: the questions before that have an answer, and then the new one.
func conversation(ctx context.Context, in AskQuestionInput) (*mcp.Sampling, error) {
	asked := &mcp.Sampling{Key: "answer", MaxTokens: 2000}
	say := func(role mcp.Role, text string) {
		asked.Messages = append(asked.Messages, mcp.SamplingMessage{Role: role, Content: []mcp.Content{mcp.Text{Text: text}}})
	}
	if in.ChatID != "" {
		chat, err := app.Ask(ctx, chats.Get{ChatID: in.ChatID})
		if err != nil {
			return nil, err
		}
		for _, before := range chat.Questions {
			if before.Status == chats.QuestionStatusAnswered {
				say(mcp.RoleUser, before.Question)
				say(mcp.RoleAssistant, before.Answer)
			}
		}
	}
	say(mcp.RoleUser, in.Question)
	return asked, nil
}

// record keeps a question, and says what there is to know of it.
func record(ctx context.Context, c chats.Record) (AskQuestionOutput, error) {
	kept, err := app.Do(ctx, c)
	if err != nil {
		return AskQuestionOutput{}, err
	}
	out := AskQuestionOutput{ChatID: kept.ChatID, QuestionID: kept.ID, Status: kept.Status, Answer: kept.Answer}
	if kept.Status == chats.QuestionStatusOpen {
		out.Next = fmt.Sprintf("The client has no model that answers, so the question is kept. Another agent finds it with list_questions, and answers it with answer_question and question_id %q. Then get_chat with chat_id %q shows the answer.", kept.ID, kept.ChatID)
	}
	return out, nil
}
