package tasks

import "context"

// List lists tasks in the order in which they were created, a page at a time, with who has them and what came of them.
//
//petrock:name list_tasks
type List struct {
	Status TaskStatus `json:"status,omitempty"`                        // Only those that are queued, taken, done or failed; all if left out
	Limit  int        `json:"limit" schema:"min=1,max=100,default=20"` // How many at most
	After  int64      `json:"after,omitempty" schema:"min=0"`          // What next was on the page before; left out for the first one
}

// ListOutput is one page.
type ListOutput struct {
	Items []Task `json:"items"`          // Those on the page
	Next  int64  `json:"next,omitempty"` // What to give as after for the next page; left out on the last one
}

// Answer finds the page. Leases are not on it: they are for the agents that have them.
func (q List) Answer(ctx context.Context, s *State) (ListOutput, error) {
	out := ListOutput{Items: []Task{}}
	for _, id := range s.Order[s.after(s.Order, q.After):] {
		task := *s.Tasks[id]
		if q.Status != "" && task.Status != q.Status {
			continue
		}
		if len(out.Items) == q.Limit {
			out.Next = out.Items[q.Limit-1].Seq
			break
		}
		task.Lease = ""
		out.Items = append(out.Items, task)
	}
	return out, nil
}
