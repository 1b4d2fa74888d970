package app

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// A TypeView is a [View] that finds records by type and version.
type TypeView interface {
	View

	// Types returns the types and versions of all records, without First and Last.
	Types() ([]TypeCount, error)

	// Next returns the number of the first record of a type and version that is at least from. Previous
	// returns that of the last one that is at most to. Both return 0 if there is none.
	Next(eventType string, version int, from int64) (int64, error)
	Previous(eventType string, version int, to int64) (int64, error)
}

// A TypeCount is the number of events of a type and version.
type TypeCount struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
	Count   int64  `json:"count"`
	First   int64  `json:"first"` // sequence number of the first one
	Last    int64  `json:"last"`
}

// StoredTypes returns the types and versions of events that a build must be able to read, sorted. It
// counts amended events by their amendments. It leaves out events that are skipped or erased, and the
// log's own.
func StoredTypes(v TypeView) ([]TypeCount, error) {
	all, err := v.Types()
	if err != nil {
		return nil, err
	}
	u, err := newUnamended(v)
	if err != nil {
		return nil, err
	}
	type key struct {
		eventType string
		version   int
	}
	counts := map[key]*TypeCount{}
	for _, t := range all {
		if strings.HasPrefix(t.Type, ownFeature+"/") {
			continue
		}
		if t.First, err = u.Next(t.Type, t.Version, 1); err != nil {
			return nil, err
		}
		if t.Last, err = u.Previous(t.Type, t.Version, lastSeq); err != nil {
			return nil, err
		}
		counts[key{t.Type, t.Version}] = &t
	}
	for seq, am := range u.amendments {
		r, err := findInView(v, seq)
		if err != nil {
			return nil, err
		}
		if t := counts[key{r.Type, r.Version}]; t != nil {
			t.Count--
		}
		if am.Skip {
			continue
		}
		t := counts[key{am.Type, am.Version}]
		if t == nil {
			t = &TypeCount{Type: am.Type, Version: am.Version}
			counts[key{am.Type, am.Version}] = t
		}
		t.Count, t.First, t.Last = t.Count+1, min(cmp.Or(t.First, seq), seq), max(t.Last, seq)
	}
	types := []TypeCount{}
	for _, t := range counts {
		if t.Count > 0 {
			types = append(types, *t)
		}
	}
	slices.SortFunc(types, func(a, b TypeCount) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), cmp.Compare(a.Version, b.Version))
	})
	return types, nil
}

// Sample yields up to limit events of a type and version, with their amendments, in order: those that
// were amended to be of that type, the first, the last, and others that are spread over the log.
func Sample(v TypeView, eventType string, version, limit int) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		u, err := newUnamended(v)
		if err != nil {
			yield(Record{}, err)
			return
		}
		found, err := u.sample(eventType, version, limit)
		if err != nil {
			yield(Record{}, err)
			return
		}
		for _, seq := range found {
			r, err := findInView(v, seq)
			if am, amended := u.amendments[seq]; amended {
				r.Type, r.Version, r.Data = am.Type, am.Version, am.Data
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// findInView returns a record of a view.
func findInView(v View, seq int64) (Record, error) {
	for r, err := range v.Records(seq - 1) {
		if err == nil && r.Seq != seq {
			break
		}
		return r, err
	}
	return Record{}, fmt.Errorf("event %d does not exist", seq)
}

// lastSeq is above all sequence numbers.
const lastSeq = 1<<63 - 1

// An unamended view finds only records without amendments.
type unamended struct {
	TypeView
	amendments map[int64]Amendment
}

func newUnamended(v TypeView) (unamended, error) {
	amendments, err := readAmendments(v)
	return unamended{v, amendments}, err
}

func (u unamended) Next(eventType string, version int, from int64) (int64, error) {
	for {
		seq, err := u.TypeView.Next(eventType, version, from)
		if _, amended := u.amendments[seq]; err != nil || !amended {
			return seq, err
		}
		from = seq + 1
	}
}

func (u unamended) Previous(eventType string, version int, to int64) (int64, error) {
	for {
		seq, err := u.TypeView.Previous(eventType, version, to)
		if _, amended := u.amendments[seq]; err != nil || !amended {
			return seq, err
		}
		to = seq - 1
	}
}

// sample returns the numbers of up to limit events, sorted. It halves the ranges between the events that
// it has found, the widest first, so clusters are found wherever they are.
func (u unamended) sample(eventType string, version, limit int) ([]int64, error) {
	var found []int64
	for _, seq := range slices.Sorted(maps.Keys(u.amendments)) {
		if am := u.amendments[seq]; !am.Skip && am.Type == eventType && am.Version == version {
			found = append(found, seq)
		}
	}
	type between struct{ low, high int64 } // numbers that are known
	open := []between{}
	first, err := u.Next(eventType, version, 1)
	if err != nil {
		return nil, err
	}
	last, err := u.Previous(eventType, version, lastSeq)
	if err != nil {
		return nil, err
	}
	if first > 0 {
		found = append(found, first)
	}
	if last > first {
		found, open = append(found, last), append(open, between{first, last})
	}
	for len(open) > 0 && len(found) < limit {
		b := open[0]
		open = open[1:]
		middle := b.low + (b.high-b.low)/2
		seq, err := u.Next(eventType, version, max(middle, b.low+1))
		if err != nil {
			return nil, err
		}
		if seq < b.high {
			open = append(open, between{seq, b.high})
		} else if seq, err = u.Previous(eventType, version, middle); err != nil {
			return nil, err
		}
		if seq > b.low && seq < b.high {
			found, open = append(found, seq), append(open, between{b.low, seq})
		}
	}
	found = found[:min(len(found), limit)]
	slices.Sort(found)
	return found, nil
}
