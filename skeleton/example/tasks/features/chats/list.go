package chats

import "context"

// List lists questions that nobody has answered yet, the oldest first: answer_question answers them.
//
//petrock:name list_questions
type List struct {
	Limit int `json:"limit" schema:"min=1,max=100,default=20"` // How many at most
}

// ListOutput is the first of them.
type ListOutput struct {
	Items []Question `json:"items"` // The oldest ones
	Open  int        `json:"open"`  // How many there are in all
}

// Answer finds them.
func (q List) Answer(ctx context.Context, s *State) (ListOutput, error) {
	out := ListOutput{Items: []Question{}, Open: len(s.Open)}
	for _, id := range s.Open[:min(q.Limit, len(s.Open))] {
		out.Items = append(out.Items, *s.Questions[id])
	}
	return out, nil
}
