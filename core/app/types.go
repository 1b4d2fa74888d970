package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/amendments"
	"github.com/petrock/petrock/core/strictjson"
)

// A typeKey identifies the events that have the same fields.
type typeKey struct {
	eventType string
	version   int
}

// A typeSummary counts the events of a log up to one of them, so that few are left to read. It is
// stored like a snapshot: builds that do not know it remove it when they erase an event.
type typeSummary struct {
	Through int64                `json:"through"` // sequence number
	Types   []eventlog.TypeCount `json:"types"`
}

// summaryDocument is the document with the summary. No feature has the name of the log's own.
const summaryDocument = snapshotsPrefix + ownFeature + "/types"

// summaryInterval is the number of events after which the summary is stored again.
const summaryInterval = 10_000

// storedSummary returns the summary in a store; the zero value if there is none.
func storedSummary(v eventlog.View) (s typeSummary, err error) {
	document, err := v.Get(summaryDocument)
	if err == nil && document != nil {
		err = json.Unmarshal(document, &s)
	}
	if err != nil {
		return s, fmt.Errorf("read the types of events: %w", err)
	}
	return s, nil
}

// complete adds the events after the summary.
func (s typeSummary) complete(v eventlog.TypeView) (typeSummary, error) {
	more, err := v.Types(s.Through)
	if err != nil {
		return s, fmt.Errorf("read the types of events: %w", err)
	}
	counts := map[typeKey]*eventlog.TypeCount{}
	for _, t := range s.Types {
		counts[typeKey{t.Type, t.Version}] = &t
	}
	for _, t := range more {
		if known := counts[typeKey{t.Type, t.Version}]; known != nil {
			known.Count, known.Last = known.Count+t.Count, t.Last
		} else {
			counts[typeKey{t.Type, t.Version}] = &t
		}
		s.Through = max(s.Through, t.Last)
	}
	s.Types = sortedTypes(counts)
	return s, nil
}

func sortedTypes(counts map[typeKey]*eventlog.TypeCount) []eventlog.TypeCount {
	types := []eventlog.TypeCount{}
	for _, t := range counts {
		types = append(types, *t)
	}
	slices.SortFunc(types, func(a, b eventlog.TypeCount) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), cmp.Compare(a.Version, b.Version))
	})
	return types
}

// storeSummary stores a new summary if the store has many events after the old one, and returns the
// last event that is in it.
func (a *App) storeSummary(ctx context.Context) (through int64, err error) {
	var next typeSummary
	var document []byte // nil if the summary is recent
	var amended string
	err = a.store.View(ctx, func(v eventlog.View) error {
		typed, ok := v.(eventlog.TypeView)
		if !ok {
			next.Through = lastSeq
			return nil
		}
		stored, err := storedSummary(v)
		if err != nil {
			stored = typeSummary{} // replace it
		}
		index, err := amendments.ReadIndex(v)
		if err != nil {
			return err
		}
		if next, err = stored.complete(typed); err != nil {
			return err
		}
		if next.Through-stored.Through < summaryInterval {
			next.Through = stored.Through
			return nil
		}
		amended = index.Hash(next.Through)
		document, err = strictjson.Marshal(next)
		return err
	})
	if err != nil || document == nil {
		return next.Through, err
	}
	return next.Through, a.write(ctx, func(tx eventlog.Tx) error {
		index, err := amendments.ReadIndex(tx)
		if err != nil || amended != index.Hash(next.Through) {
			return err // an event was erased meanwhile
		}
		return tx.Put(summaryDocument, document)
	})
}

// summarize stores a new summary if it is due. through is the last event in the last summary.
func (a *App) summarize(ctx context.Context, through int64) int64 {
	a.mu.RLock()
	last := a.seq
	a.mu.RUnlock()
	if last-through < summaryInterval {
		return through
	}
	stored, err := a.storeSummary(ctx)
	if err != nil {
		if ctx.Err() == nil {
			a.logError(slog.LevelWarn, "count the types of events", err)
		}
		return last // retry later
	}
	return stored
}

// StoredTypes returns the types and versions of events that a build must be able to read, sorted.
// It counts amended events by their amendments. It leaves out events that are skipped or erased,
// and the log's own. Use it before a change of the code, to find out what is in a log.
func StoredTypes(v eventlog.TypeView) ([]eventlog.TypeCount, error) {
	summary, err := storedSummary(v)
	if err == nil {
		summary, err = summary.complete(v)
	}
	if err != nil {
		return nil, err
	}
	if v, err = withRows(v); err != nil {
		return nil, err
	}
	counts, readAs := map[typeKey]*eventlog.TypeCount{}, map[typeKey]*eventlog.TypeCount{}
	for _, t := range summary.Types {
		if !isOwn(t.Type) {
			counts[typeKey{t.Type, t.Version}] = &t
		}
	}
	var amended []int64
	for row, err := range amendmentRows(v) {
		if err != nil {
			return nil, err
		}
		amended = append(amended, row.Seq)
		of := typeKey{row.OfType, row.OfVersion}
		if of.eventType == "" { // an older build has written the row
			r, err := v.Record(row.Seq)
			if err != nil {
				return nil, err
			}
			of = typeKey{r.Type, r.Version}
		}
		if t := counts[of]; t != nil {
			t.Count--
		}
		if key := (typeKey{row.Type, row.Version}); !row.Skip {
			if readAs[key] == nil {
				readAs[key] = &eventlog.TypeCount{Type: row.Type, Version: row.Version, First: row.Seq}
			}
			readAs[key].Count, readAs[key].Last = readAs[key].Count+1, row.Seq
		}
	}
	for key, t := range counts {
		if t.Count == 0 {
			delete(counts, key)
		} else if err := skipAmended(t, v, amended); err != nil {
			return nil, err
		}
	}
	for key, more := range readAs {
		if t := counts[key]; t == nil {
			counts[key] = more
		} else {
			t.Count, t.First, t.Last = t.Count+more.Count, min(t.First, more.First), max(t.Last, more.Last)
		}
	}
	return sortedTypes(counts), nil
}

// An oldView is the view of a log of an older build, with its amendments as documents of their own.
type oldView struct {
	eventlog.TypeView
	rows *Backup
}

func (v oldView) Get(name string) ([]byte, error) { return v.rows.Get(name) }
func (v oldView) Documents(prefix, after string) iter.Seq2[eventlog.Document, error] {
	return v.rows.Documents(prefix, after)
}

// withRows returns a view that has its amendments as documents of their own.
func withRows(v eventlog.TypeView) (eventlog.TypeView, error) {
	old, err := v.Get(amendments.OldDocument)
	if err != nil || old == nil {
		return v, err
	}
	documents, err := amendments.Convert(old, lastSeq)
	rows := &Backup{documents: map[string][]byte{}, converted: true}
	for _, d := range documents {
		rows.documents[d.Name] = d.Value
	}
	return oldView{v, rows}, err
}

// skipAmended moves First and Last of a count to events that are not amended.
func skipAmended(t *eventlog.TypeCount, v eventlog.TypeView, amended []int64) error {
	_, first := slices.BinarySearch(amended, t.First)
	_, last := slices.BinarySearch(amended, t.Last)
	if !first && !last {
		return nil
	}
	t.First, t.Last = 0, 0
	for seq, err := range v.OfType(t.Type, t.Version) {
		if err != nil {
			return err
		}
		if _, isAmended := slices.BinarySearch(amended, seq); !isAmended {
			t.First, t.Last = cmp.Or(t.First, seq), seq
		}
	}
	return nil
}

// Sample yields up to limit events of a type and version, as they are read with amendments, in
// order: the first, the last, and others at equal distances.
func Sample(v eventlog.TypeView, eventType string, version, limit int) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		v, err := withRows(v)
		if err != nil {
			yield(eventlog.Record{}, err)
			return
		}
		var all, amended []int64
		for row, err := range amendmentRows(v) {
			if err != nil {
				yield(eventlog.Record{}, err)
				return
			}
			amended = append(amended, row.Seq)
			if !row.Skip && row.Type == eventType && row.Version == version {
				all = append(all, row.Seq)
			}
		}
		for seq, err := range v.OfType(eventType, version) {
			if err != nil {
				yield(eventlog.Record{}, err)
				return
			}
			if _, isAmended := slices.BinarySearch(amended, seq); !isAmended {
				all = append(all, seq)
			}
		}
		slices.Sort(all)
		reader := newAmendmentReader(v, amendments.Index{Last: lastSeq}, true)
		for i := range min(limit, len(all)) {
			at := i
			if limit < len(all) && limit > 1 {
				at = i * (len(all) - 1) / (limit - 1)
			}
			r, err := v.Record(all[at])
			if err == nil {
				var am *Amendment
				if am, err = reader.Of(r.Seq); am != nil {
					r.Type, r.Version, r.Data = am.Type, am.Version, am.Data
				}
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
