// Package storetest tests implementations of [eventlog.Store]. It is for authors of stores: a store
// that passes [Run] can be used by an app, from several processes.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) (first, second eventlog.Store) { … })
//	}
//
// [Append], [Record] and [Check] are for further tests of a store, such as killing a process that
// writes.
package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
)

// Run runs the tests. For each test, open returns two handles on the same empty store, like those
// of two processes. Run closes them.
func Run(t *testing.T, open func(t *testing.T) (first, second eventlog.Store)) {
	for _, test := range []struct {
		name string
		run  func(suite)
	}{
		{"empty", suite.empty},
		{"records", suite.records},
		{"gaps", suite.gaps},
		{"keys", suite.keys},
		{"consistent read", suite.consistentRead},
		{"early stop", suite.earlyStop},
		{"rollback", suite.rollback},
		{"own writes", suite.ownWrites},
		{"stamp", suite.stamp},
		{"documents", suite.documents},
		{"names", suite.names},
		{"view", suite.view},
		{"replace", suite.replace},
		{"types", suite.types},
		{"names in write", suite.namesInWrite},
		{"many documents", suite.manyDocuments},
		{"shared memory", suite.sharedMemory},
		{"big", suite.big},
		{"many", suite.many},
		{"context", suite.context},
		{"readers do not wait", suite.readersDoNotWait},
		{"concurrent", suite.concurrent},
	} {
		t.Run(test.name, func(t *testing.T) {
			first, second := open(t)
			test.run(suite{t, first, second})
			if err := errors.Join(first.Close(), second.Close()); err != nil {
				t.Error("close:", err)
			}
		})
	}
}

// Record returns a test record that depends only on its number.
func Record(seq int64) eventlog.Record {
	return eventlog.Record{
		Seq:     seq,
		ID:      fmt.Sprint("id", seq),
		Time:    time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seq) * 1_000_001 * time.Microsecond),
		Actor:   []string{"", "ada", "worker:things/tidy"}[max(seq, 0)%3],
		Type:    "things/make",
		Version: 1,
		Data:    json.RawMessage(fmt.Sprintf(`{"n":%d}`, seq)),
		Cause:   []json.RawMessage{nil, json.RawMessage(`{"event":1,"worker":"things/tidy"}`)}[max(seq, 0)%2],
	}
}

// Append appends n records made by [Record], and returns the number of the last.
func Append(s eventlog.Store, n int) (last int64, err error) {
	err = s.Write(context.Background(), func(tx eventlog.Tx) error {
		if last, err = tx.Last(); err != nil {
			return err
		}
		for range n {
			last++
			if err := tx.Append(Record(last)); err != nil {
				return err
			}
		}
		return nil
	})
	return last, err
}

// Check returns an error unless the log of a store is the records 1 to last of [Record].
func Check(s eventlog.Store, last int64) error {
	next := int64(1)
	for r, err := range s.Records(context.Background(), 0) {
		if err != nil {
			return err
		}
		if err := compare(r, Record(next)); err != nil {
			return err
		}
		next++
	}
	if got, err := s.Last(context.Background()); err != nil || next != last+1 || got != last {
		return fmt.Errorf("got %d records, the last is %d, want %d: %v", next-1, got, last, err)
	}
	return nil
}

// compare returns an error if a record differs from the expected one.
func compare(got, want eventlog.Record) error {
	g, w := got, want
	g.Time, w.Time, g.Data, w.Data, g.Result, w.Result, g.Cause, w.Cause = time.Time{}, time.Time{}, nil, nil, nil, nil, nil, nil
	if fmt.Sprintf("%#v", g) != fmt.Sprintf("%#v", w) || got.Time != want.Time ||
		!bytes.Equal(got.Data, want.Data) || !bytes.Equal(got.Result, want.Result) || string(got.Cause) != string(want.Cause) {
		return fmt.Errorf("got record\n%+v, want\n%+v", got, want)
	}
	return nil
}

// A suite is a test with two handles on its store.
type suite struct {
	*testing.T
	first, second eventlog.Store
}

// write calls Write and fails the test on an error.
func (s suite) write(store eventlog.Store, f func(eventlog.Tx) error) {
	s.Helper()
	if err := store.Write(s.Context(), f); err != nil {
		s.Fatal("write:", err)
	}
}

func (s suite) add(store eventlog.Store, n int) {
	s.Helper()
	if _, err := Append(store, n); err != nil {
		s.Fatal("append:", err)
	}
}

// check fails the test unless both stores hold the records 1 to last.
func (s suite) check(last int64) {
	s.Helper()
	if err := errors.Join(Check(s.first, last), Check(s.second, last)); err != nil {
		s.Error(err)
	}
}

// count fails the test unless the second handle has want records after a sequence number.
func (s suite) count(after int64, want int) {
	s.Helper()
	got, next := 0, max(after, 0)
	for r, err := range s.second.Records(s.Context(), after) {
		if next++; err != nil || r.Seq != next {
			s.Fatalf("got record %d, want %d: %v", r.Seq, next, err)
		}
		got++
	}
	if got != want {
		s.Errorf("after %d: got %d records, want %d", after, got, want)
	}
}

// document fails the test unless a document has the expected value.
func (s suite) document(name string, want []byte) {
	s.Helper()
	got, err := s.second.Get(s.Context(), name)
	if err != nil || !bytes.Equal(got, want) || (got == nil) != (want == nil) {
		s.Errorf("document %q: got %#v, want %#v: %v", name, got, want, err)
	}
}
