package chats

import (
	"context"
	"fmt"
	"slices"

	"github.com/petrock/petrock/core/app"
)

// Answer answers an open question of another agent, from list_questions. The agent that asked reads
// the answer with get_chat.
//
//petrock:name answer_question
//petrock:hints additive
type Answer struct {
	QuestionID string `json:"question_id"`                            // Id of the question
	Answer     string `json:"answer" schema:"min=1,max=20000"`        // The answer
	Agent      string `json:"agent,omitempty" schema:"min=1,max=100"` // Name of the agent that answers
}

// Check refuses a question that does not exist or was answered.
func (c Answer) Check(ctx context.Context, s *State) error {
	question := s.Questions[c.QuestionID]
	switch {
	case question == nil:
		return fmt.Errorf("question %q does not exist; call list_questions for the open ones", c.QuestionID)
	case question.Status != QuestionStatusOpen:
		return fmt.Errorf("question %q was already answered; call list_questions for the open ones", c.QuestionID)
	}
	return nil
}

// Apply stores the answer and closes the question.
func (c Answer) Apply(s *State, e app.Event) Question {
	question := s.Questions[c.QuestionID]
	question.answer(c.Answer, c.Agent, e.Time)
	s.Open = slices.DeleteFunc(s.Open, func(id string) bool { return id == question.ID })
	return *question
}
