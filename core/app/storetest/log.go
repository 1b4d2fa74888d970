package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
)

func (s suite) empty() {
	s.check(0)
	s.count(-1, 0)
	s.count(7, 0)
	s.document("none", nil)
	s.write(s.first, func(tx eventlog.Tx) error { return nil })
	s.check(0)
}

func (s suite) records() {
	s.add(s.first, 1)
	s.add(s.second, 2)
	s.add(s.first, 1)
	s.check(4)
	s.count(-1, 4)
	s.count(2, 2)
	s.count(4, 0)

	odd := eventlog.Record{
		Seq: 5, ID: "ид\x00☃", Time: time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.FixedZone("", 3600)), Actor: "Ада \x00'; --",
		Type:    "a/ü",
		Version: 1 << 30,
		Data:    []byte("{\"s\": \"☃\\u0000\"}"),
		Key:     "ключ '\"; DROP TABLE log",
		Result:  []byte(`null`),
	}
	s.write(s.first, func(tx eventlog.Tx) error { return tx.Append(odd) })
	odd.Time = odd.Time.UTC()
	for r, err := range s.second.Records(s.Context(), 4) {
		if err := errors.Join(err, compare(r, odd)); err != nil {
			s.Error(err)
		}
	}
}

func (s suite) gaps() {
	s.add(s.first, 3)
	for _, test := range []struct {
		seqs  []int64
		taken bool
	}{
		{[]int64{3}, true},
		{[]int64{0}, true},
		{[]int64{4, 4}, true},
		{[]int64{5}, false},
		{[]int64{4, 6}, false},
	} {
		err := s.second.Write(s.Context(), func(tx eventlog.Tx) error {
			for _, seq := range test.seqs {
				if err := tx.Append(Record(seq)); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil || errors.Is(err, eventlog.ErrConflict) != test.taken || errors.Is(err, eventlog.ErrOutcomeUnknown) {
			s.Errorf("append %d, want errors.Is(err, eventlog.ErrConflict) = %v: %v", test.seqs, test.taken, err)
		}
	}
	// A failed Append adds none of its records.
	s.write(s.first, func(tx eventlog.Tx) error {
		if tx.Append(Record(4), Record(6)) == nil {
			s.Error("a gap was accepted")
		}
		return tx.Append(Record(4))
	})
	s.check(4)
}

func (s suite) keys() {
	keyed := func(seq int64, key string) eventlog.Record {
		r := Record(seq)
		r.Key, r.Result = key, []byte(`"`+key+`"`)
		return r
	}
	s.write(s.first, func(tx eventlog.Tx) error { return tx.Append(Record(1), keyed(2, "a"), Record(3)) })
	s.write(s.second, func(tx eventlog.Tx) error {
		if err := tx.Append(keyed(4, "b")); err != nil {
			return err
		}
		found, err := tx.Find("", "b", "c", "a", "A", "a")
		if err != nil || len(found) != 2 {
			s.Errorf("found %v, %v, want a and b", found, err)
		}
		for _, want := range []eventlog.Record{keyed(2, "a"), keyed(4, "b")} {
			if err := compare(found[want.Key], want); err != nil {
				s.Errorf("key %q: %v", want.Key, err)
			}
		}
		if found, err := tx.Find(); err != nil || len(found) > 0 {
			s.Errorf("without keys: found %v, %v, want none", found, err)
		}
		return nil
	})
	for _, again := range [][]eventlog.Record{{keyed(5, "a")}, {keyed(5, "c"), keyed(6, "c")}, {Record(5), keyed(6, "b")}} {
		err := s.first.Write(s.Context(), func(tx eventlog.Tx) error { return tx.Append(again...) })
		if !errors.Is(err, eventlog.ErrConflict) || errors.Is(err, eventlog.ErrOutcomeUnknown) {
			s.Errorf("duplicate key: %v, want eventlog.ErrConflict", err)
		}
	}
	// f ignores the error, so Write must return it.
	s.first.Write(s.Context(), func(tx eventlog.Tx) error {
		tx.Append(Record(5), keyed(6, "b"))
		tx.Find("b")
		return nil
	})
	s.count(0, 4)
	s.write(s.first, func(tx eventlog.Tx) error { return tx.Append(keyed(5, "c")) })
	s.count(0, 5)
}

// An iteration sees the log as of its start. Its body may write.
func (s suite) consistentRead() {
	s.add(s.first, 3)
	all := s.first.Records(s.Context(), 0)
	s.add(s.second, 1)
	n := 0
	for _, err := range all {
		if err != nil {
			s.Fatal(err)
		}
		n++
		s.add(s.first, 1)
		s.add(s.second, 1)
	}
	if n != 4 {
		s.Errorf("got %d records, want 4", n)
	}
	s.check(12)
}

// A view stays the same while others write, and does not block them.
func (s suite) view() {
	s.add(s.first, 3)
	s.write(s.first, func(tx eventlog.Tx) error { return errors.Join(tx.Put("a", []byte("1")), tx.Put("b", []byte("2"))) })
	err := s.second.View(s.Context(), func(v eventlog.View) error {
		for range 2 {
			last := int64(0)
			for r, err := range v.Records(1) {
				if err := errors.Join(err, compare(r, Record(r.Seq))); err != nil {
					return err
				}
				last = r.Seq
			}
			names, err := v.Names("")
			a, err2 := v.Get("a")
			c, err3 := v.Get("c")
			if err := errors.Join(err, err2, err3); err != nil || last != 3 || strings.Join(names, " ") != "a b" || string(a) != "1" || c != nil {
				s.Errorf("the view ends at record %d and has the documents %q, a = %q, c = %q, %v; want 3, a and b, 1 and none", last, names, a, c, err)
			}
			s.add(s.first, 1)
			s.add(s.second, 1)
			s.write(s.first, func(tx eventlog.Tx) error {
				r := Record(2)
				r.Data = []byte(`{}`)
				return errors.Join(tx.Put("a", []byte("3")), tx.Put("b", nil), tx.Put("c", []byte("4")), tx.Replace(r))
			})
		}
		return errRefused
	})
	if !errors.Is(err, errRefused) {
		s.Errorf("View returned %v, want errRefused", err)
	}
	s.document("a", []byte("3"))
	s.count(0, 7)
}

// Replace changes a record, with its key. Readers that have begun may see either.
func (s suite) replace() {
	keyed := Record(4)
	keyed.Key, keyed.Result = "key", []byte(`"secret"`)
	s.add(s.first, 3)
	s.write(s.first, func(tx eventlog.Tx) error { return tx.Append(keyed) })
	changed, changedKeyed := Record(2), Record(4)
	changed.Type, changed.Data, changedKeyed.Data = "things/erased", []byte(`{}`), []byte(`{}`)
	seen := func(records func(int64) iter.Seq2[eventlog.Record, error]) {
		s.Helper()
		for r, err := range records(0) {
			want := Record(r.Seq)
			switch r.Seq {
			case 2:
				want = changed
			case 4:
				want = changedKeyed
			}
			if err := errors.Join(err, compare(r, want)); err != nil {
				s.Error(err)
			}
		}
	}
	before, err := s.second.Stamp(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	s.write(s.first, func(tx eventlog.Tx) error {
		if err := errors.Join(tx.Append(Record(5)), tx.Replace(changed), tx.Replace(changedKeyed), tx.Replace(Record(5))); err != nil {
			return err
		}
		for _, seq := range []int64{0, 6} {
			if tx.Replace(Record(seq)) == nil {
				s.Errorf("replacing event %d, which does not exist, returned no error, want one", seq)
			}
		}
		if found, err := tx.Find("key"); len(found) > 0 || err != nil {
			s.Errorf("the key of a replaced record: found %v, %v, want none", found, err)
		}
		seen(tx.Records)
		return nil
	})
	seen(func(after int64) iter.Seq2[eventlog.Record, error] { return s.second.Records(s.Context(), after) })
	if after, err := s.second.Stamp(s.Context()); after == before || err != nil {
		s.Errorf("the stamp is still %d, %v, want another one", after, err)
	}
	if err := s.first.Write(s.Context(), func(tx eventlog.Tx) error { return errors.Join(tx.Replace(Record(1)), errRefused) }); !errors.Is(err, errRefused) {
		s.Error(err)
	}
	if err := errors.Join(s.first.Scrub(s.Context()), s.second.Scrub(s.Context())); err != nil {
		s.Error("scrub:", err)
	}
	seen(func(after int64) iter.Seq2[eventlog.Record, error] { return s.second.Records(s.Context(), after) })
	keyed.Seq = 6
	s.write(s.second, func(tx eventlog.Tx) error { return tx.Append(keyed) }) // the key is free
	s.count(0, 6)
}

// A reader may stop before the end.
func (s suite) earlyStop() {
	s.add(s.first, 100)
	for range 20 {
		for range s.first.Records(s.Context(), 10) {
			break
		}
		s.write(s.second, func(tx eventlog.Tx) error {
			for r, err := range tx.Records(20) {
				if err != nil || r.Seq != 21 {
					s.Error(r.Seq, err)
				}
				break
			}
			return nil
		})
	}
	s.add(s.first, 1)
	s.check(101)
}

// The store does not share memory with f.
func (s suite) sharedMemory() {
	r, value := Record(1), []byte("value")
	r.Key, r.Result = "key", []byte("result")
	expect := func(r eventlog.Record, value []byte, errs ...error) {
		if err := errors.Join(errs...); err != nil || string(r.Data)+string(r.Result)+string(value) != `{"n":1}resultvalue` {
			s.Errorf("got data %q, result %q, document %q, %v; want {\"n\":1}, result, value", r.Data, r.Result, value, err)
		}
		clear(r.Data)
		clear(r.Result)
		clear(value)
	}
	s.write(s.first, func(tx eventlog.Tx) error {
		expect(r, value, tx.Append(r), tx.Put("name", value))
		for range 2 {
			found, err := tx.Find("key")
			value, err2 := tx.Get("name")
			expect(found["key"], value, err, err2)
		}
		return nil
	})
	for _, store := range []eventlog.Store{s.first, s.second, s.first} {
		for r, err := range store.Records(s.Context(), 0) {
			value, err2 := store.Get(s.Context(), "name")
			expect(r, value, err, err2)
		}
	}
}

func (s suite) big() {
	data := []byte(`"` + strings.Repeat("0123456789abcdef", 1<<16) + `"`)
	for seq := int64(1); seq <= 4; seq++ {
		r := Record(seq)
		r.Data = data
		s.write(s.first, func(tx eventlog.Tx) error {
			return errors.Join(tx.Append(r), tx.Put("big", append([]byte{byte(seq)}, data...)))
		})
	}
	s.count(0, 4)
	for r, err := range s.second.Records(s.Context(), 0) {
		if err != nil || string(r.Data) != string(data) {
			s.Fatal(len(r.Data), err)
		}
	}
	s.document("big", append([]byte{4}, data...))
}

func (s suite) many() {
	s.add(s.first, 777)
	s.add(s.second, 64)
	var more []eventlog.Record
	for seq := int64(842); seq <= 1500; seq++ {
		more = append(more, Record(seq))
	}
	s.write(s.first, func(tx eventlog.Tx) error { return tx.Append(more...) })
	s.check(1500)
	s.count(1490, 10)
}

// typeView calls f with a view of the second handle. It skips the test if the view is not an
// [eventlog.TypeView].
func (s suite) typeView(f func(v eventlog.TypeView)) {
	s.Helper()
	err := s.second.View(s.Context(), func(v eventlog.View) error {
		typed, ok := v.(eventlog.TypeView)
		if !ok {
			s.Skip("the store does not find records by type")
		}
		f(typed)
		return nil
	})
	if err != nil {
		s.Error("view:", err)
	}
}

// addTyped appends a record for each type and version, such as "a/x 1".
func (s suite) addTyped(all ...string) {
	s.Helper()
	s.write(s.first, func(tx eventlog.Tx) error {
		last, err := tx.Last()
		for i, text := range all {
			r := Record(last + int64(i) + 1)
			if _, scanErr := fmt.Sscan(text, &r.Type, &r.Version); scanErr != nil {
				return scanErr
			}
			err = errors.Join(err, tx.Append(r))
		}
		return err
	})
}

// Types counts records by type and version, OfType yields their numbers, and Record returns one.
func (s suite) types() {
	s.typeView(func(v eventlog.TypeView) {
		if types, err := v.Types(0); err != nil || len(types) != 0 {
			s.Errorf("empty log: Types(0) = %v, %v, want none", types, err)
		}
	})
	s.addTyped("a/x 1", "a/x 2", "b/y 1", "a/x 1", "a/x 1", "b/z 1", "a/X 1", "a/x 10")
	s.typeView(func(v eventlog.TypeView) {
		types, err := v.Types(0)
		slices.SortFunc(types, func(a, b eventlog.TypeCount) int {
			return cmp.Or(strings.Compare(a.Type, b.Type), a.Version-b.Version)
		})
		if got, want := fmt.Sprint(types), "[{a/X 1 1 7 7} {a/x 1 3 1 5} {a/x 2 1 2 2} {a/x 10 1 8 8} {b/y 1 1 3 3} {b/z 1 1 6 6}]"; err != nil || got != want {
			s.Errorf("Types(0) = %s, %v, want %s", got, err, want)
		}
		if types, err := v.Types(5); err != nil || len(types) != 3 {
			s.Errorf("Types(5) = %v, %v, want 3 types", types, err)
		}
		var seqs []int64
		for seq, err := range v.OfType("a/x", 1) {
			if err != nil {
				s.Fatal(err)
			}
			if seqs = append(seqs, seq); len(seqs) == 2 {
				break
			}
		}
		if got, want := fmt.Sprint(seqs), "[1 4]"; got != want {
			s.Errorf("the first two of OfType(a/x, 1) = %s, want %s", got, want)
		}
		if r, err := v.Record(8); err != nil || r.Seq != 8 || r.Type != "a/x" || r.Version != 10 {
			s.Errorf("Record(8) = %+v, %v, want version 10 of a/x", r, err)
		}
	})
}
