package amendments_test

import (
	"testing"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/amendments"
)

// The hash of a state changes only with the amendments of its own events.
func TestHash(t *testing.T) {
	var x amendments.Index
	for _, change := range []amendments.Change{{Record: 10, First: 4}, {Record: 11, First: 8}, {Record: 12, First: 6}} {
		x.Record = change.Record
		x.Add(change.First)
	}
	for seq, want := range map[int64]string{3: "", 4: "10", 5: "10", 6: "12", 9: "12"} {
		if got := x.Hash(seq); got != want {
			t.Errorf("Hash(%d) = %q, want %q", seq, got, want)
		}
	}
}

// A long history keeps the first event that was ever amended.
func TestAddMany(t *testing.T) {
	var x amendments.Index
	for i := range int64(300) {
		x.Record = 1000 + i
		x.Add(1 + i)
	}
	if got, most := len(x.Changes), 100; got > most {
		t.Errorf("the index has %d changes, want at most %d", got, most)
	}
	if got, want := x.Changes[0].First, int64(1); got != want {
		t.Errorf("the first change starts at event %d, want %d", got, want)
	}
}

// Migrate replaces the document of older builds with one for each event, and an index.
func TestMigrate(t *testing.T) {
	ctx := t.Context()
	store := eventlog.NewMemory()
	err := store.Write(ctx, func(tx eventlog.Tx) error {
		if err := tx.Append(eventlog.Record{Seq: 1}, eventlog.Record{Seq: 2}); err != nil {
			return err
		}
		if err := tx.Put(amendments.OldDocument, []byte(`{"2":{"seq":2,"skip":true},"1":{"seq":1}}`)); err != nil {
			return err
		}
		return amendments.Migrate(tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		amendments.Name(amendments.Prefix, 1): `{"seq":1}`,
		amendments.Name(amendments.Prefix, 2): `{"seq":2,"skip":true}`,
		amendments.IndexDocument:              `{"record":2,"last":2,"changes":[{"record":2,"first":1}]}`,
		amendments.OldDocument:                "",
	} {
		if got, err := store.Get(ctx, name); err != nil || string(got) != want {
			t.Errorf("document %s = %s, %v, want %s", name, got, err, want)
		}
	}
}
