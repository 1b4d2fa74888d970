package chats

import "context"

// Get returns a conversation: the questions so far, with their answers.
//
//petrock:name get_chat
type Get struct {
	ChatID string `json:"chat_id"` // Id of the conversation, as ask_question gave it
}

// GetOutput is the conversation.
type GetOutput struct {
	ChatID    string     `json:"chat_id"`
	Questions []Question `json:"questions"` // In the order in which they were asked
}

// Answer finds it.
func (q Get) Answer(ctx context.Context, s *State) (GetOutput, error) {
	if err := s.known(q.ChatID); err != nil {
		return GetOutput{}, err
	}
	out := GetOutput{ChatID: q.ChatID}
	for _, id := range s.Chats[q.ChatID] {
		out.Questions = append(out.Questions, *s.Questions[id])
	}
	return out, nil
}
