package mcp

import "context"

// Provide has handlers and hooks find more in the contexts of their calls, from now on: with is given a context, and returns one with
// more values in it. The values are all that counts, and what the context of a call has by itself comes first.
func (s *Server) Provide(with func(context.Context) context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := context.Background()
	if p := s.provided.Load(); p != nil {
		before = *p
	}
	after := with(before)
	s.provided.Store(&after)
}

// value is what was provided for a key, or nil.
func (s *Server) value(key any) any {
	if p := s.provided.Load(); p != nil {
		return (*p).Value(key)
	}
	return nil
}
