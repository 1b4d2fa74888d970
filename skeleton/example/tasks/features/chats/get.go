package chats

import "context"

// Get returns a conversation: the questions so far, with their answers.
//
//petrock:name get_chat
type Get struct {
	ChatID string `json:"chat_id"` // Id of the conversation, from ask_question
}

// GetOutput is a conversation.
type GetOutput struct {
	ChatID    string     `json:"chat_id"`
	Questions []Question `json:"questions"` // Oldest first
}

// Answer returns the conversation.
func (q Get) Answer(ctx context.Context, s *State) (GetOutput, error) {
	if err := s.checkChat(q.ChatID); err != nil {
		return GetOutput{}, err
	}
	out := GetOutput{ChatID: q.ChatID}
	for _, id := range s.Chats[q.ChatID] {
		out.Questions = append(out.Questions, *s.Questions[id])
	}
	return out, nil
}
