package storetest

import (
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/petrock/petrock/core/app"
)

func (s suite) empty() {
	s.check(0)
	s.count(-1, 0)
	s.count(7, 0)
	s.document("none", nil)
	s.write(s.first, func(tx app.Tx) error { return nil })
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

	odd := app.Record{
		Event:   app.Event{Seq: 5, ID: "ид\x00☃", Time: time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.FixedZone("", 3600)), Actor: "Ада \x00'; --"},
		Type:    "a/ü",
		Version: 1 << 30,
		Data:    []byte("{\"s\": \"☃\\u0000\"}"),
		Key:     "ключ '\"; DROP TABLE log",
		Result:  []byte(`null`),
	}
	s.write(s.first, func(tx app.Tx) error { return tx.Append(odd) })
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
		err := s.second.Write(s.Context(), func(tx app.Tx) error {
			for _, seq := range test.seqs {
				if err := tx.Append(Record(seq)); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil || errors.Is(err, app.ErrConflict) != test.taken || errors.Is(err, app.ErrOutcomeUnknown) {
			s.Errorf("append %d: %v", test.seqs, err)
		}
	}
	// A failed Append adds none of its records.
	s.write(s.first, func(tx app.Tx) error {
		if tx.Append(Record(4), Record(6)) == nil {
			s.Error("a gap was accepted")
		}
		return tx.Append(Record(4))
	})
	s.check(4)
}

func (s suite) keys() {
	keyed := func(seq int64, key string) app.Record {
		r := Record(seq)
		r.Key, r.Result = key, []byte(`"`+key+`"`)
		return r
	}
	s.write(s.first, func(tx app.Tx) error { return tx.Append(Record(1), keyed(2, "a"), Record(3)) })
	s.write(s.second, func(tx app.Tx) error {
		if err := tx.Append(keyed(4, "b")); err != nil {
			return err
		}
		for _, want := range []app.Record{keyed(2, "a"), keyed(4, "b")} {
			r, ok, err := tx.Find(want.Key)
			if err := errors.Join(err, compare(r, want)); !ok || err != nil {
				s.Errorf("key %q not found: %v", want.Key, err)
			}
		}
		for _, none := range []string{"", "c", "A"} {
			if _, ok, err := tx.Find(none); ok || err != nil {
				s.Errorf("key %q found: %v", none, err)
			}
		}
		return nil
	})
	for _, again := range [][]app.Record{{keyed(5, "a")}, {keyed(5, "c"), keyed(6, "c")}, {Record(5), keyed(6, "b")}} {
		err := s.first.Write(s.Context(), func(tx app.Tx) error { return tx.Append(again...) })
		if !errors.Is(err, app.ErrConflict) || errors.Is(err, app.ErrOutcomeUnknown) {
			s.Errorf("duplicate key: %v", err)
		}
	}
	s.first.Write(s.Context(), func(tx app.Tx) error { // f ignores the error, so Write must return it
		tx.Append(Record(5), keyed(6, "b"))
		tx.Find("b")
		return nil
	})
	s.count(0, 4)
	s.write(s.first, func(tx app.Tx) error { return tx.Append(keyed(5, "c")) })
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
	s.write(s.first, func(tx app.Tx) error { return errors.Join(tx.Put("a", []byte("1")), tx.Put("b", []byte("2"))) })
	err := s.second.View(s.Context(), func(v app.View) error {
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
				s.Errorf("the view has %d records, names %q, a = %q, c = %q: %v", last, names, a, c, err)
			}
			s.add(s.first, 1)
			s.add(s.second, 1)
			s.write(s.first, func(tx app.Tx) error {
				r := Record(2)
				r.Data = []byte(`{}`)
				return errors.Join(tx.Put("a", []byte("3")), tx.Put("b", nil), tx.Put("c", []byte("4")), tx.Replace(r))
			})
		}
		return errRefused
	})
	if !errors.Is(err, errRefused) {
		s.Errorf("View returned %v", err)
	}
	s.document("a", []byte("3"))
	s.count(0, 7)
}

// Replace changes a record, with its key. Readers that have begun may see either.
func (s suite) replace() {
	keyed := Record(4)
	keyed.Key, keyed.Result = "key", []byte(`"secret"`)
	s.add(s.first, 3)
	s.write(s.first, func(tx app.Tx) error { return tx.Append(keyed) })
	changed, changedKeyed := Record(2), Record(4)
	changed.Type, changed.Data, changedKeyed.Data = "things/erased", []byte(`{}`), []byte(`{}`)
	seen := func(records func(int64) iter.Seq2[app.Record, error]) {
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
	s.write(s.first, func(tx app.Tx) error {
		if err := errors.Join(tx.Append(Record(5)), tx.Replace(changed), tx.Replace(changedKeyed), tx.Replace(Record(5))); err != nil {
			return err
		}
		for _, seq := range []int64{0, 6} {
			if tx.Replace(Record(seq)) == nil {
				s.Errorf("event %d, which does not exist, was replaced", seq)
			}
		}
		if _, ok, err := tx.Find("key"); ok || err != nil {
			s.Errorf("the key of a replaced record is found; %v", err)
		}
		seen(tx.Records)
		return nil
	})
	seen(func(after int64) iter.Seq2[app.Record, error] { return s.second.Records(s.Context(), after) })
	if after, err := s.second.Stamp(s.Context()); after == before || err != nil {
		s.Errorf("the stamp is still %d; %v", after, err)
	}
	if err := s.first.Write(s.Context(), func(tx app.Tx) error { return errors.Join(tx.Replace(Record(1)), errRefused) }); !errors.Is(err, errRefused) {
		s.Error(err)
	}
	if err := errors.Join(s.first.Scrub(s.Context()), s.second.Scrub(s.Context())); err != nil {
		s.Error("scrub:", err)
	}
	seen(func(after int64) iter.Seq2[app.Record, error] { return s.second.Records(s.Context(), after) })
	keyed.Seq = 6
	s.write(s.second, func(tx app.Tx) error { return tx.Append(keyed) }) // the key is free
	s.count(0, 6)
}

// A reader may stop before the end.
func (s suite) earlyStop() {
	s.add(s.first, 100)
	for range 20 {
		for range s.first.Records(s.Context(), 10) {
			break
		}
		s.write(s.second, func(tx app.Tx) error {
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
	expect := func(r app.Record, value []byte, errs ...error) {
		if err := errors.Join(errs...); err != nil || string(r.Data)+string(r.Result)+string(value) != `{"n":1}resultvalue` {
			s.Errorf("%q, %q, %q; %v", r.Data, r.Result, value, err)
		}
		clear(r.Data)
		clear(r.Result)
		clear(value)
	}
	s.write(s.first, func(tx app.Tx) error {
		expect(r, value, tx.Append(r), tx.Put("name", value))
		for range 2 {
			r, _, err := tx.Find("key")
			value, err2 := tx.Get("name")
			expect(r, value, err, err2)
		}
		return nil
	})
	for _, store := range []app.Store{s.first, s.second, s.first} {
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
		s.write(s.first, func(tx app.Tx) error {
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
	var more []app.Record
	for seq := int64(842); seq <= 1500; seq++ {
		more = append(more, Record(seq))
	}
	s.write(s.first, func(tx app.Tx) error { return tx.Append(more...) })
	s.check(1500)
	s.count(1490, 10)
}
