package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync"

	"github.com/petrock/petrock/core/app/eventlog"
)

// errRefused is returned by functions of these tests.
var errRefused = errors.New("refused")

// addRecordAndDocument adds a record and a document, and optionally reads the record back.
func (s suite) addRecordAndDocument(tx eventlog.Tx, seq int64, readBack bool) {
	err := errors.Join(tx.Append(Record(seq)), tx.Put("a", []byte("b")))
	if last, lastErr := tx.Last(); last != seq || lastErr != nil {
		s.Errorf("Last() = %d, %v, want %d", last, lastErr, seq)
	}
	if readBack {
		last := int64(0)
		for r, readErr := range tx.Records(0) {
			last, err = r.Seq, errors.Join(err, readErr)
		}
		if last != seq {
			s.Errorf("the last record is %d, want %d", last, seq)
		}
	}
	if err != nil {
		s.Error(err)
	}
}

// If f fails or panics, nothing is written.
func (s suite) rollback() {
	s.add(s.first, 1)
	for i, readBack := range []bool{false, true, false, true} {
		func() {
			defer func() { recover() }() // or the error is returned
			err := s.first.Write(s.Context(), func(tx eventlog.Tx) error {
				if s.addRecordAndDocument(tx, 2, readBack); i < 2 {
					panic("in f")
				}
				return errRefused
			})
			if err == nil || i >= 2 && !errors.Is(err, errRefused) || errors.Is(err, eventlog.ErrOutcomeUnknown) {
				s.Errorf("Write returned %v, want errRefused", err)
			}
		}()
		s.check(1)
		s.document("a", nil)
	}
	s.add(s.second, 1)
	s.add(s.first, 1)
	s.check(3)
}

func (s suite) ownWrites() {
	s.write(s.first, func(tx eventlog.Tx) error {
		for seq := int64(1); seq < 20; seq++ {
			s.addRecordAndDocument(tx, seq, true)
			value := strconv.AppendInt(nil, seq, 10)
			err := tx.Put("n", value)
			if got, getErr := tx.Get("n"); string(got) != string(value) || err != nil || getErr != nil {
				s.Errorf("document: got %q, want %q: %v, %v", got, value, err, getErr)
			}
			s.check(0)
		}
		err := tx.Put("n", nil)
		if got, getErr := tx.Get("n"); got != nil || getErr != nil {
			s.Errorf("removed document: got %q, want nil: %v", got, getErr)
		}
		return err
	})
	s.check(19)
	s.document("n", nil)
	s.document("a", []byte("b"))
}

// Commits of other stores change the stamp, outside and inside of a Write.
func (s suite) stamp() {
	stamp := func() int64 {
		outside, err := s.first.Stamp(s.Context())
		s.write(s.first, func(tx eventlog.Tx) error {
			if inside, insideErr := tx.Stamp(); inside != outside || err != nil || insideErr != nil {
				s.Errorf("the stamp in Write is %d, %v, want %d, %v as outside", inside, insideErr, outside, err)
			}
			return nil
		})
		return outside
	}
	seen := []int64{stamp()}
	for i := range 10 {
		s.add(s.first, 1)
		if i%2 == 0 {
			s.add(s.second, 1)
		} else {
			s.write(s.second, func(tx eventlog.Tx) error { return tx.Put("a", []byte{byte(i)}) })
		}
		now := stamp()
		if slices.Contains(seen, now) {
			s.Errorf("got stamp %d again, want a new one", now)
		}
		seen = append(seen, now)
	}
}

func (s suite) documents() {
	s.write(s.first, func(tx eventlog.Tx) error {
		return errors.Join(tx.Put("a", []byte{}), tx.Put("ü/☃", []byte("\x00\xff")), tx.Put("", []byte("none")), tx.Put("gone", nil))
	})
	for name, want := range map[string][]byte{"a": {}, "ü/☃": []byte("\x00\xff"), "": []byte("none"), "gone": nil, "A": nil} {
		s.document(name, want)
	}
	s.write(s.first, func(tx eventlog.Tx) error {
		if got, err := tx.Get("a"); got == nil || len(got) != 0 || err != nil {
			s.Errorf("document a: got %#v, %v, want an empty one", got, err)
		}
		return errors.Join(tx.Put("a", []byte("1")), tx.Put("a", []byte("2")), tx.Put("ü/☃", []byte("3")), tx.Put("ü/☃", nil))
	})
	s.document("a", []byte("2"))
	s.document("ü/☃", nil)
}

func (s suite) names() {
	all := []string{"", "A", "a", "a%", "a/1", "a/10", "a/2", "a_b", "ab", "b", "ü"}
	s.write(s.first, func(tx eventlog.Tx) error {
		for _, name := range slices.Backward(all) {
			if err := tx.Put(name, []byte(name)); err != nil {
				return err
			}
		}
		return tx.Put("a/gone", nil)
	})
	for prefix, want := range map[string][]string{
		"": all, "a/": {"a/1", "a/10", "a/2"}, "a%": {"a%"}, "a_": {"a_b"}, "ü": {"ü"}, "b": {"b"}, "zz": nil, "a/3": nil,
	} {
		if got, err := s.second.Names(s.Context(), prefix); err != nil || !slices.Equal(got, want) {
			s.Errorf("names with prefix %q: got %q, want %q: %v", prefix, got, want, err)
		}
		if got := s.documentNames(s.second.Documents(s.Context(), prefix, "")); !slices.Equal(got, want) {
			s.Errorf("documents with prefix %q: got %q, want %q", prefix, got, want)
		}
	}
	for after, want := range map[string][]string{"a/1": {"a/10", "a/2"}, "a/11": {"a/2"}, "A": {"a/1", "a/10", "a/2"}, "a/2": nil, "b": nil} {
		if got := s.documentNames(s.second.Documents(s.Context(), "a/", after)); !slices.Equal(got, want) {
			s.Errorf("documents after %q: got %q, want %q", after, got, want)
		}
	}
}

// documentNames returns the names of documents whose values are their names.
func (s suite) documentNames(all iter.Seq2[eventlog.Document, error]) (names []string) {
	s.Helper()
	for d, err := range all {
		if err != nil || string(d.Value) != d.Name {
			s.Errorf("document %q is %q, want %v: %v", d.Name, d.Value, d.Name, err)
		}
		names = append(names, d.Name)
	}
	return names
}

// Documents are read in pages, even while a Write changes them.
func (s suite) manyDocuments() {
	const n = 3000
	s.write(s.first, func(tx eventlog.Tx) error {
		for i := range n {
			name := fmt.Sprintf("many/%05d", i)
			if err := tx.Put(name, []byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
	if got := s.documentNames(s.second.Documents(s.Context(), "many/", "many/00999")); len(got) != n-1000 || !slices.IsSorted(got) {
		s.Errorf("got %d documents, want %v", len(got), n-1000)
	}
	err := s.second.View(s.Context(), func(v eventlog.View) error {
		if got := s.documentNames(v.Documents("many/", "")); len(got) != n {
			s.Errorf("the view has %d documents, want %v", len(got), n)
		}
		return nil
	})
	if err != nil {
		s.Error(err)
	}
	s.write(s.second, func(tx eventlog.Tx) error {
		seen := 0
		for d, err := range tx.Documents("many/", "") {
			if seen++; err != nil {
				return err
			}
			if err := tx.Put(d.Name, nil); err != nil {
				return err
			}
		}
		if seen != n {
			s.Errorf("a Write has seen %d documents, want %v", seen, n)
		}
		return nil
	})
	if names, err := s.first.Names(s.Context(), ""); len(names) > 0 || err != nil {
		s.Errorf("%d documents are left, %v, want none", len(names), err)
	}
}

// A Write sees the names of its own documents.
func (s suite) namesInWrite() {
	s.write(s.first, func(tx eventlog.Tx) error { return errors.Join(tx.Put("a/1", []byte("1")), tx.Put("a/2", []byte("2"))) })
	s.write(s.second, func(tx eventlog.Tx) error {
		err := errors.Join(tx.Put("a/1", nil), tx.Put("a/0", []byte{}), tx.Put("b", []byte("b")))
		if got, namesErr := tx.Names("a/"); err != nil || namesErr != nil || !slices.Equal(got, []string{"a/0", "a/2"}) {
			s.Errorf("names: got %q, %v, %v, want a/0 and a/2", got, err, namesErr)
		}
		return nil
	})
}

// Write stops waiting for its turn when the context ends. It ignores the context once f is called.
func (s suite) context() {
	canceled := func(ctx context.Context, store eventlog.Store) {
		err := store.Write(ctx, func(eventlog.Tx) error { s.Error("f was called"); return nil })
		if !errors.Is(err, context.Canceled) {
			s.Errorf("cancelled Write: %v, want context.Canceled", err)
		}
	}
	for range 5 {
		ctx, cancel := context.WithCancel(s.Context())
		err := s.first.Write(ctx, func(tx eventlog.Tx) error {
			var group sync.WaitGroup
			for _, store := range []eventlog.Store{s.first, s.second, s.second} {
				group.Go(func() { canceled(ctx, store) })
			}
			cancel()
			group.Wait()
			last, err := tx.Last()
			return errors.Join(err, tx.Append(Record(last+1)))
		})
		if err != nil {
			s.Error(err)
		}
		canceled(ctx, s.first)
		for _, err = range s.first.Records(ctx, 0) {
		}
		if !errors.Is(err, context.Canceled) {
			s.Errorf("cancelled Records: %v, want context.Canceled", err)
		}
		s.add(s.second, 1)
	}
	s.check(10)
}

// Readers do not wait for writers, even if a writer waits for the reader.
func (s suite) readersDoNotWait() {
	for _, readBack := range []bool{false, true} {
		err := s.first.Write(s.Context(), func(tx eventlog.Tx) error {
			s.addRecordAndDocument(tx, 1, readBack)
			var group sync.WaitGroup
			for range 8 { // more than the connections of a store
				group.Go(func() {
					s.check(0)
					s.document("a", nil)
					if names, err := s.second.Names(s.Context(), ""); len(names) > 0 || err != nil {
						s.Error(names, err)
					}
				})
			}
			group.Wait()
			return errRefused
		})
		if !errors.Is(err, errRefused) {
			s.Error(err)
		}
	}
}

// Concurrent writes lose neither records nor increments of a counter in a document.
func (s suite) concurrent() {
	const callers, times = 4, 25
	var group sync.WaitGroup
	for _, store := range []eventlog.Store{s.first, s.second} {
		for i := range callers {
			group.Go(func() {
				for range times {
					_, err := Append(store, 1+i%2)
					err = errors.Join(err, store.Write(s.Context(), func(tx eventlog.Tx) error {
						value, err := tx.Get("n")
						n, _ := strconv.Atoi(string(value))
						return errors.Join(err, tx.Put("n", fmt.Append(nil, n+1)))
					}))
					if err != nil {
						s.Error(err)
					}
				}
			})
			group.Go(func() {
				for range times {
					n := int64(0)
					for r, err := range store.Records(s.Context(), 0) {
						if n++; err != nil || r.Seq != n {
							s.Error(r.Seq, n, err)
							return
						}
					}
				}
			})
		}
	}
	group.Wait()
	s.check(2 * callers * times * 3 / 2)
	s.document("n", fmt.Append(nil, 2*callers*times))
}
