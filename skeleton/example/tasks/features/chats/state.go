// Package chats keeps the questions of agents, in conversations, with the answers of models and
// other agents.
package chats

import (
	"fmt"
	"time"
)

// State is the state of the feature, rebuilt from the event log. Only commands change it.
type State struct {
	Chats     map[string][]string  `json:"chats"`     // Ids of the questions by conversation, oldest first
	Questions map[string]*Question `json:"questions"` // By id
	Open      []string             `json:"open"`      // Ids of the open questions, oldest first
}

// A Question is a question in a conversation, with its answer.
type Question struct {
	ID         string         `json:"id"`
	ChatID     string         `json:"chat_id"` // Id of the conversation, and of its first question
	Status     QuestionStatus `json:"status"`
	Question   string         `json:"question"`
	Answer     string         `json:"answer,omitempty"`
	AnsweredBy string         `json:"answered_by,omitempty"` // Name of the model or agent that answered, if known
	AskedAt    time.Time      `json:"asked_at"`
	AnsweredAt *time.Time     `json:"answered_at,omitempty"`
}

// A QuestionStatus is the status of a question.
type QuestionStatus string

// The statuses of a question.
const (
	QuestionStatusOpen     QuestionStatus = "open"
	QuestionStatusAnswered QuestionStatus = "answered"
)

// NewState returns the state before the first command.
func NewState() *State {
	return &State{Chats: map[string][]string{}, Questions: map[string]*Question{}}
}

// checkChat returns an error if a conversation does not exist.
func (s *State) checkChat(chatID string) error {
	if s.Chats[chatID] == nil {
		return fmt.Errorf("conversation %q does not exist; call ask_question without chat_id to start one", chatID)
	}
	return nil
}

// answer sets the answer of a question.
func (q *Question) answer(text, by string, at time.Time) {
	q.Status, q.Answer, q.AnsweredBy, q.AnsweredAt = QuestionStatusAnswered, text, by, &at
}
