package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/storetest"
)

// rawDB is SQLite with package database/sql, with the same table and settings.
func rawDB(b *testing.B) *sql.DB {
	b.Helper()
	db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "raw.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, statement := range []string{"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA fullfsync=1", schema} {
		if _, err := db.Exec(statement); err != nil {
			b.Fatal(err)
		}
	}
	return db
}

// rawArgs returns the values that are inserted for a record.
func rawArgs(seq int64) []any {
	r := storetest.Record(seq)
	return []any{r.Seq, r.ID, r.Time.UnixMicro(), r.Type, r.Version, []byte(r.Data), nil, nil, r.Actor, []byte(r.Cause)}
}

// compare runs ours and raw in turn, and reports the medians and their ratio.
func compare(b *testing.B, ours, raw func()) {
	b.Helper()
	var took [2][]time.Duration
	for b.Loop() {
		for i, f := range []func(){ours, raw} {
			begin := time.Now()
			f()
			took[i] = append(took[i], time.Since(begin))
		}
	}
	var median [2]float64
	for i := range took {
		slices.Sort(took[i])
		median[i] = float64(took[i][len(took[i])/2].Nanoseconds())
	}
	b.ReportMetric(median[0], "ns/ours")
	b.ReportMetric(median[1], "ns/raw")
	b.ReportMetric(median[0]/median[1], "ours/raw")
}

// Compares a Write of some records with as many prepared inserts and their commit.
func BenchmarkWrite(b *testing.B) {
	for _, n := range []int64{1, 8, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, db := open(b, filepath.Join(b.TempDir(), "log.db")), rawDB(b)
			insert, err := db.Prepare(insertSQL + rowSQL)
			if err != nil {
				b.Fatal(err)
			}
			var last, rawLast int64
			fatal := func(err error) {
				if err != nil {
					b.Fatal(err)
				}
			}
			ours := func() {
				fatal(s.Write(b.Context(), func(tx eventlog.Tx) error {
					if _, err := tx.Stamp(); err != nil {
						return err
					}
					for range n {
						last++
						if err := tx.Append(storetest.Record(last)); err != nil {
							return err
						}
					}
					return nil
				}))
			}
			raw := func() {
				if n == 1 {
					rawLast++
					_, err := insert.Exec(rawArgs(rawLast)...)
					fatal(err)
					return
				}
				tx, err := db.Begin()
				fatal(err)
				in := tx.Stmt(insert)
				for range n {
					rawLast++
					_, err := in.Exec(rawArgs(rawLast)...)
					fatal(err)
				}
				fatal(tx.Commit())
			}
			compare(b, ours, raw)
		})
	}
}

// Compares reading the log with a scan of the same rows.
func BenchmarkRecords(b *testing.B) {
	const rows = 20_000
	s, db := open(b, filepath.Join(b.TempDir(), "log.db")), rawDB(b)
	var all []eventlog.Record
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	for seq := int64(1); seq <= rows; seq++ {
		all = append(all, storetest.Record(seq))
		if _, err := tx.Exec(insertSQL+rowSQL, rawArgs(seq)...); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	if err := s.Write(b.Context(), func(tx eventlog.Tx) error { return tx.Append(all...) }); err != nil {
		b.Fatal(err)
	}
	ours := func() {
		for _, err := range s.Records(b.Context(), 0) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	raw := func() {
		found, err := db.Query("SELECT " + columns + ", cause FROM log ORDER BY seq")
		if err != nil {
			b.Fatal(err)
		}
		for found.Next() {
			var r eventlog.Record
			var at int64
			var data, result, cause []byte
			var key sql.NullString
			if err := found.Scan(&r.Seq, &r.ID, &at, &r.Type, &r.Version, &data, &key, &result, &cause); err != nil {
				b.Fatal(err)
			}
			r.Data, r.Result, r.Cause = data, result, cause
			r.Time = time.UnixMicro(at).UTC()
		}
		if err := found.Err(); err != nil {
			b.Fatal(err)
		}
	}
	compare(b, ours, raw)
}

func BenchmarkStamp(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "log.db"))
	for b.Loop() {
		if _, err := s.Stamp(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
