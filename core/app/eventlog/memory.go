package eventlog

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Memory is a store in memory, for tests and examples.
type Memory struct {
	shared  *memory
	commits int64 // of this handle; guarded by shared.mu
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{shared: &memory{writing: make(chan struct{}, 1), keys: map[string]int64{}, documents: map[string][]byte{}}}
}

// Share returns another handle on the same store, which acts like another process.
func (m *Memory) Share() *Memory { return &Memory{shared: m.shared} }

// Records implements [Store].
func (m *Memory) Records(ctx context.Context, after int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		m.shared.mu.RLock()
		log := m.shared.log
		m.shared.mu.RUnlock()
		for _, r := range log[min(max(after, 0), int64(len(log))):] {
			if err := ctx.Err(); err != nil {
				yield(Record{}, err)
				return
			}
			if !yield(cloned(r), nil) {
				return
			}
		}
	}
}

// Last implements [Store].
func (m *Memory) Last(context.Context) (int64, error) {
	m.shared.mu.RLock()
	defer m.shared.mu.RUnlock()
	return int64(len(m.shared.log)), nil
}

// Stamp implements [Store].
func (m *Memory) Stamp(context.Context) (int64, error) {
	m.shared.mu.RLock()
	defer m.shared.mu.RUnlock()
	return m.shared.commits - m.commits, nil
}

// Get implements [Store].
func (m *Memory) Get(_ context.Context, name string) ([]byte, error) {
	m.shared.mu.RLock()
	defer m.shared.mu.RUnlock()
	return bytes.Clone(m.shared.documents[name]), nil
}

// Names implements [Store].
func (m *Memory) Names(_ context.Context, prefix string) ([]string, error) {
	m.shared.mu.RLock()
	defer m.shared.mu.RUnlock()
	names := slices.Sorted(maps.Keys(m.shared.documents))
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) }), nil
}

// Documents implements [Store].
func (m *Memory) Documents(ctx context.Context, prefix, after string) iter.Seq2[Document, error] {
	return documents(memoryView{ctx, m}, prefix, after)
}

// Write implements [Store].
func (m *Memory) Write(ctx context.Context, f func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	select {
	case m.shared.writing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-m.shared.writing }()
	tx := &memoryTx{m: m, replaced: map[int64]Record{}, puts: map[string][]byte{}}
	if err := f(tx); err != nil {
		return err
	}
	if len(tx.log)+len(tx.puts)+len(tx.replaced) == 0 {
		return nil
	}
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	if len(tx.replaced) > 0 {
		m.shared.log = slices.Clone(m.shared.log)
	}
	for seq, r := range tx.replaced {
		delete(m.shared.keys, m.shared.log[seq-1].Key)
		m.shared.log[seq-1] = r
		if r.Key != "" {
			m.shared.keys[r.Key] = seq
		}
	}
	for _, r := range tx.log {
		m.shared.log = append(m.shared.log, r)
		if r.Key != "" {
			m.shared.keys[r.Key] = r.Seq
		}
	}
	for name, value := range tx.puts {
		m.shared.documents[name] = value
		if value == nil {
			delete(m.shared.documents, name)
		}
	}
	m.shared.commits++
	m.commits++
	return nil
}

// View implements [Store].
func (m *Memory) View(ctx context.Context, f func(View) error) error {
	m.shared.mu.RLock()
	moment := &Memory{shared: &memory{log: m.shared.log, documents: maps.Clone(m.shared.documents)}}
	m.shared.mu.RUnlock()
	return f(memoryView{ctx, moment})
}

// Scrub implements [Store].
func (m *Memory) Scrub(context.Context) error { return nil }

// Close implements [Store]. It keeps the data for other handles.
func (m *Memory) Close() error { return nil }

// A memory is the data that several handles share.
type memory struct {
	writing chan struct{} // held by the writer

	mu        sync.RWMutex
	log       []Record // readers share the elements, so they are never changed
	keys      map[string]int64
	documents map[string][]byte
	commits   int64
}

// A memoryView reads a Memory with the context of a call.
type memoryView struct {
	ctx context.Context
	m   *Memory
}

func (v memoryView) Records(after int64) iter.Seq2[Record, error] { return v.m.Records(v.ctx, after) }
func (v memoryView) Get(name string) ([]byte, error)              { return v.m.Get(v.ctx, name) }
func (v memoryView) Names(prefix string) ([]string, error)        { return v.m.Names(v.ctx, prefix) }
func (v memoryView) Documents(prefix, after string) iter.Seq2[Document, error] {
	return documents(v, prefix, after)
}

// A memoryTx collects changes until Write commits them.
type memoryTx struct {
	m        *Memory
	log      []Record
	replaced map[int64]Record // committed records
	puts     map[string][]byte
}

func (tx *memoryTx) Records(after int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range tx.m.Records(context.Background(), after) {
			if replaced, ok := tx.replaced[r.Seq]; ok {
				r = cloned(replaced)
			}
			if !yield(r, err) {
				return
			}
		}
		for _, r := range tx.log {
			if r.Seq > after && !yield(cloned(r), nil) {
				return
			}
		}
	}
}

func (tx *memoryTx) Last() (int64, error) {
	last, err := tx.m.Last(context.Background())
	return last + int64(len(tx.log)), err
}

func (tx *memoryTx) Stamp() (int64, error) { return tx.m.Stamp(context.Background()) }

func (tx *memoryTx) Find(keys ...string) (map[string]Record, error) {
	tx.m.shared.mu.RLock()
	defer tx.m.shared.mu.RUnlock()
	found := map[string]Record{}
	for _, key := range keys {
		if seq, ok := tx.m.shared.keys[key]; ok {
			r, ok := tx.replaced[seq]
			if !ok {
				r = tx.m.shared.log[seq-1]
			}
			if r.Key == key {
				found[key] = cloned(r)
			}
		}
	}
	for _, r := range tx.log {
		if r.Key != "" && slices.Contains(keys, r.Key) {
			found[r.Key] = cloned(r)
		}
	}
	return found, nil
}

func (tx *memoryTx) Append(records ...Record) error {
	next, err := tx.m.Last(context.Background())
	if err != nil {
		return err
	}
	before := tx.log
	next += int64(len(tx.log))
	for _, r := range records {
		next++
		found, err := tx.Find(r.Key)
		switch {
		case err != nil:
		case r.Seq < next, len(found) > 0:
			err = fmt.Errorf("event %d: %w", r.Seq, ErrConflict)
		case r.Seq > next:
			err = fmt.Errorf("event %d does not follow event %d", r.Seq, next-1)
		}
		if err != nil {
			tx.log = before
			return err
		}
		r = cloned(r)
		r.Time = r.Time.UTC().Truncate(time.Microsecond)
		tx.log = append(tx.log, r)
	}
	return nil
}

func (tx *memoryTx) Replace(records ...Record) error {
	last, err := tx.m.Last(context.Background())
	for _, r := range records {
		r = cloned(r)
		r.Time = r.Time.UTC().Truncate(time.Microsecond)
		switch {
		case err != nil:
			return err
		case r.Seq < 1 || r.Seq > last+int64(len(tx.log)):
			return fmt.Errorf("replace event %d: it does not exist", r.Seq)
		case r.Seq > last:
			tx.log[r.Seq-last-1] = r
		default:
			tx.replaced[r.Seq] = r
		}
	}
	return nil
}

func (tx *memoryTx) Documents(prefix, after string) iter.Seq2[Document, error] {
	return documents(tx, prefix, after)
}

func (tx *memoryTx) Names(prefix string) ([]string, error) {
	names, err := tx.m.Names(context.Background(), prefix)
	for name, value := range tx.puts {
		names = slices.DeleteFunc(names, func(n string) bool { return n == name })
		if value != nil && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}

func (tx *memoryTx) Get(name string) ([]byte, error) {
	if value, ok := tx.puts[name]; ok {
		return bytes.Clone(value), nil
	}
	return tx.m.Get(context.Background(), name)
}

func (tx *memoryTx) Put(name string, value []byte) error {
	tx.puts[name] = bytes.Clone(value)
	return nil
}

func cloned(r Record) Record {
	r.Data, r.Result, r.Cause = bytes.Clone(r.Data), bytes.Clone(r.Result), bytes.Clone(r.Cause)
	return r
}

// documents implements Documents for views in memory.
func documents(v View, prefix, after string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		names, err := v.Names(prefix)
		if err != nil {
			yield(Document{}, err)
			return
		}
		at, found := slices.BinarySearch(names, after)
		if found && after != "" {
			at++
		}
		for _, name := range names[at:] {
			value, err := v.Get(name)
			if value == nil && err == nil {
				continue // removed meanwhile
			}
			if !yield(Document{name, value}, err) || err != nil {
				return
			}
		}
	}
}
