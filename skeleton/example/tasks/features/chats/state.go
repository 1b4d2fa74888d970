// Package chats is what agents ask, in conversations, and what models or other agents answer.
package chats

import (
	"fmt"
	"time"
)

// State is what the log says of chats. Commands change it, and nothing else does.
type State struct {
	Chats     map[string][]string  `json:"chats"`     // The ids of the questions of each conversation, in the order in which they were asked
	Questions map[string]*Question `json:"questions"` // By id
	Open      []string             `json:"open"`      // The ids of those that nobody has answered, the oldest first
}

// A Question is one of a conversation, with its answer.
type Question struct {
	ID         string         `json:"id"`
	ChatID     string         `json:"chat_id"` // The conversation: the id of its first question
	Status     QuestionStatus `json:"status"`
	Question   string         `json:"question"`
	Answer     string         `json:"answer,omitempty"`
	AnsweredBy string         `json:"answered_by,omitempty"` // The model, or the agent if it gave a name
	AskedAt    time.Time      `json:"asked_at"`
	AnsweredAt *time.Time     `json:"answered_at,omitempty"`
}

// QuestionStatus is one of the values of status.
type QuestionStatus string

// The values of status.
const (
	QuestionStatusOpen     QuestionStatus = "open"
	QuestionStatusAnswered QuestionStatus = "answered"
)

// NewState is the state before the first command.
func NewState() *State {
	return &State{Chats: map[string][]string{}, Questions: map[string]*Question{}}
}

// known refuses an id that no conversation has.
func (s *State) known(chatID string) error {
	if s.Chats[chatID] == nil {
		return fmt.Errorf("there is no conversation %q; ask_question without a chat_id begins one, and gives its id", chatID)
	}
	return nil
}

// answer gives a question its answer.
func (q *Question) answer(text, by string, at time.Time) {
	q.Status, q.Answer, q.AnsweredBy, q.AnsweredAt = QuestionStatusAnswered, text, by, &at
}
