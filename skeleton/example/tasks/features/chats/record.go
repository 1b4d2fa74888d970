package chats

import (
	"context"

	"github.com/petrock/petrock/core/app"
)

// Record keeps a question, with its answer if there is one already. The tool ask_question executes it when the client's model has
// answered, or cannot be asked.
//
//petrock:internal
type Record struct {
	ChatID     string `json:"chat_id,omitempty"`     // The conversation; a new one if left out
	Question   string `json:"question"`              // What was asked
	Answer     string `json:"answer,omitempty"`      // What was answered; nothing so far if left out
	AnsweredBy string `json:"answered_by,omitempty"` // By whom
}

// Check refuses a conversation that is not known.
func (c Record) Check(ctx context.Context, s *State) error {
	if c.ChatID == "" {
		return nil
	}
	return s.known(c.ChatID)
}

// Apply adds the question. A new conversation has the id of its first question.
func (c Record) Apply(s *State, e app.Event) Question {
	chat := c.ChatID
	if chat == "" {
		chat = e.ID
	}
	question := &Question{ID: e.ID, ChatID: chat, Status: QuestionStatusOpen, Question: c.Question, AskedAt: e.Time}
	if c.Answer == "" {
		s.Open = append(s.Open, question.ID)
	} else {
		question.answer(c.Answer, c.AnsweredBy, e.Time)
	}
	s.Questions[question.ID] = question
	s.Chats[chat] = append(s.Chats[chat], question.ID)
	return *question
}
