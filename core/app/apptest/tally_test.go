package apptest_test

import (
	"context"
	"hash/fnv"

	"github.com/petrock/petrock/core/app"
)

// Tally is a summary of notes. Sum and Hash depend on each note and on their order.
type Tally struct {
	Count int    `json:"count"`
	Sum   int    `json:"sum"`
	Hash  uint64 `json:"hash"`
}

// Note adds a note.
type Note struct {
	Name string `json:"name"`
	By   int    `json:"by"`
}

// Noted is the position of a note in the log.
type Noted struct {
	Seq  int64  `json:"seq"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (n Note) Check(context.Context, *Tally) error { return nil }

func (n Note) Apply(s *Tally, e app.Event) Noted {
	h := fnv.New64a()
	h.Write([]byte(n.Name + e.ID + e.Time.String()))
	s.Count, s.Sum, s.Hash = s.Count+1, s.Sum+n.By, s.Hash*31+h.Sum64()
	return Noted{e.Seq, e.ID, n.Name}
}

// Count asks for the number of notes.
type Count struct{}

func (Count) Answer(_ context.Context, s *Tally) (int, error) { return s.Count, nil }

func tally() app.Feature {
	return app.Feature{
		Name:     "tally",
		State:    app.StateOf(func() *Tally { return &Tally{} }),
		Commands: []app.CommandType{app.CommandTypeOf[Note]("note", 1)},
		Queries:  []app.QueryType{app.QueryTypeOf[Count]("count"), app.QueryTypeOf[Look]("look")},
	}
}
