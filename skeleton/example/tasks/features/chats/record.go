package chats

import (
	"context"

	"github.com/petrock/petrock/core/app"
)

// Record stores a question, with its answer if it has one. The tool ask_question executes it after
// asking the client's model.
//
//petrock:internal
type Record struct {
	ChatID     string `json:"chat_id,omitempty"`     // Id of the conversation; empty starts a new one
	Question   string `json:"question"`              // The question
	Answer     string `json:"answer,omitempty"`      // The answer; empty if the question is open
	AnsweredBy string `json:"answered_by,omitempty"` // Name of the model or agent that answered
}

// Check refuses a conversation that does not exist.
func (c Record) Check(ctx context.Context, s *State) error {
	if c.ChatID == "" {
		return nil
	}
	return s.checkChat(c.ChatID)
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
