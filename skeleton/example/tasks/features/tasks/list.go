package tasks

import "context"

// List returns tasks with their agents and results, oldest first, a page at a time.
//
//petrock:name list_tasks
type List struct {
	Status TaskStatus `json:"status,omitempty"`                        // Return only tasks with this status
	Limit  int        `json:"limit" schema:"min=1,max=100,default=20"` // Maximum number of tasks to return
	After  int64      `json:"after,omitempty" schema:"min=0"`          // Value of next from the previous page; omit it for the first page
}

// ListOutput is a page of tasks.
type ListOutput struct {
	Items []Task `json:"items"`          // Tasks of this page
	Next  int64  `json:"next,omitempty"` // Pass it as after to get the next page; absent on the last page
}

// Answer returns a page of tasks, without their leases, which only their agents may use.
func (q List) Answer(ctx context.Context, s *State) (ListOutput, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = 20 // the default, which the schema sets only for clients
	}
	out := ListOutput{Items: []Task{}}
	for _, id := range s.Order[s.indexAfter(s.Order, q.After):] {
		task := *s.Tasks[id]
		if q.Status != "" && task.Status != q.Status {
			continue
		}
		if len(out.Items) == limit {
			out.Next = out.Items[limit-1].Seq
			break
		}
		task.Lease = ""
		out.Items = append(out.Items, task)
	}
	return out, nil
}
