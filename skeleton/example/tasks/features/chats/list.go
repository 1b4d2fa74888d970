package chats

import "context"

// List returns the open questions, oldest first. Answer one with answer_question.
//
//petrock:name list_questions
type List struct {
	Limit int `json:"limit" schema:"min=1,max=100,default=20"` // Maximum number of questions to return
}

// ListOutput has the oldest open questions.
type ListOutput struct {
	Items []Question `json:"items"` // Open questions, oldest first
	Open  int        `json:"open"`  // Number of all open questions
}

// Answer returns the oldest open questions.
func (q List) Answer(ctx context.Context, s *State) (ListOutput, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = 20 // the default, which the schema sets only for clients
	}
	out := ListOutput{Items: []Question{}, Open: len(s.Open)}
	for _, id := range s.Open[:min(limit, len(s.Open))] {
		out.Items = append(out.Items, *s.Questions[id])
	}
	return out, nil
}
