package chats

import (
	"context"
	"fmt"
	"slices"

	"github.com/petrock/petrock/core/app"
)

// Answer answers a question that another agent has asked, and that is open: list_questions has those. Who asked reads the answer
// with get_chat.
//
//petrock:name answer_question
//petrock:hints additive
type Answer struct {
	QuestionID string `json:"question_id"`                            // Id of the question
	Answer     string `json:"answer" schema:"min=1,max=20000"`        // What there is to say
	Agent      string `json:"agent,omitempty" schema:"min=1,max=100"` // Name of the agent that answers
}

// Check refuses a question that is not open.
func (c Answer) Check(ctx context.Context, s *State) error {
	question := s.Questions[c.QuestionID]
	switch {
	case question == nil:
		return fmt.Errorf("there is no question %q; list_questions has those that are open", c.QuestionID)
	case question.Status != QuestionStatusOpen:
		return fmt.Errorf("question %q was answered already; list_questions has those that are open", c.QuestionID)
	}
	return nil
}

// Apply answers it.
func (c Answer) Apply(s *State, e app.Event) Question {
	question := s.Questions[c.QuestionID]
	question.answer(c.Answer, c.Agent, e.Time)
	s.Open = slices.DeleteFunc(s.Open, func(id string) bool { return id == question.ID })
	return *question
}
