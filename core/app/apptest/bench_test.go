package apptest_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/sqlite"
	"github.com/petrock/petrock/core/mcp"
)

// The targets, each compared with raw SQLite with the same settings in the same run: a command
// takes at most 1.2 times an insert with its commit; 64 callers have at least 0.75 times the
// throughput of inserts in batches of 64; with two processes writing, the 99th percentile of a
// command is at most 5 ms, and both get an equal share; replay has at least 0.3 times the speed of
// a scan of the rows; a start with a snapshot takes at most 0.2 times one without.

// raw is SQLite with package database/sql.
func raw(b *testing.B) *sql.DB {
	b.Helper()
	db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "raw.db"))
	fatal(b, err)
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, statement := range []string{
		"PRAGMA journal_mode=WAL",
		"PRAGMA synchronous=FULL",
		"PRAGMA fullfsync=1",
		"CREATE TABLE log (seq INTEGER PRIMARY KEY, id TEXT, at INTEGER, type TEXT, version INTEGER, data BLOB, key TEXT, result BLOB, actor TEXT)",
	} {
		_, err := db.Exec(statement)
		fatal(b, err)
	}
	return db
}

const insert = "INSERT INTO log (seq, id, at, type, version, data, key, result, actor) VALUES (?,?,?,?,?,?,?,?,?)"

// actor is the actor of all events.
const actor = "local:ada"

// row returns the values that are inserted for a command.
func row(seq int) []any {
	data, _ := json.Marshal(Change{ID: fmt.Sprint("thing ", seq%100), Text: "text"})
	return []any{seq, fmt.Sprintf("%016d", seq), time.Now().UnixMicro(), "live/change", 1, data, nil, nil, actor}
}

func opened(b *testing.B, path string, o app.Options) (*app.App, *sqlite.Store) {
	b.Helper()
	s, err := sqlite.Open(b.Context(), path)
	fatal(b, err)
	b.Cleanup(func() { s.Close() })
	o.Logger = slog.New(slog.DiscardHandler)
	o.Actor = func(context.Context) string { return actor }
	a, err := app.Open(b.Context(), s, o, tally(), live())
	fatal(b, err)
	return a, s
}

func fatal(b *testing.B, err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

// medians returns the median durations of functions, called in turn.
func medians(b *testing.B, fs ...func()) []float64 {
	took := make([][]time.Duration, len(fs))
	for b.Loop() {
		for i, f := range fs {
			begin := time.Now()
			f()
			took[i] = append(took[i], time.Since(begin))
		}
	}
	var all []float64
	for _, t := range took {
		slices.Sort(t)
		all = append(all, float64(t[len(t)/2]))
	}
	b.ReportMetric(0, "ns/op")
	return all
}

// BenchmarkCommand compares a durable command with an insert and its commit.
func BenchmarkCommand(b *testing.B) {
	a, _ := opened(b, filepath.Join(b.TempDir(), "log.db"), app.Options{})
	stmt, err := raw(b).Prepare(insert)
	fatal(b, err)
	n, m := 0, 0
	took := medians(b, func() {
		n++
		_, err := app.DoRaw(b.Context(), a, Change{ID: fmt.Sprint("thing ", n%100), Text: "text"})
		fatal(b, err)
	}, func() {
		m++
		_, err := stmt.Exec(row(m)...)
		fatal(b, err)
	})
	b.ReportMetric(took[0], "ns/command")
	b.ReportMetric(took[1], "ns/insert")
	b.ReportMetric(took[0]/took[1], "command/insert")
}

// BenchmarkCallers compares the throughput of 64 callers with inserts in batches of 64.
func BenchmarkCallers(b *testing.B) {
	const callers, each = 64, 32
	a, _ := opened(b, filepath.Join(b.TempDir(), "log.db"), app.Options{})
	db := raw(b)
	stmt, err := db.Prepare(insert)
	fatal(b, err)
	m := 0
	took := medians(b, func() {
		var group sync.WaitGroup
		for caller := range callers {
			group.Go(func() {
				for range each {
					_, err := app.DoRaw(b.Context(), a, Change{ID: fmt.Sprint("thing ", caller), Text: "text"})
					fatal(b, err)
				}
			})
		}
		group.Wait()
	}, func() {
		for range each {
			tx, err := db.Begin()
			fatal(b, err)
			in := tx.Stmt(stmt)
			for range callers {
				m++
				_, err := in.Exec(row(m)...)
				fatal(b, err)
			}
			fatal(b, tx.Commit())
		}
	})
	b.ReportMetric(took[0]/callers/each, "ns/command")
	b.ReportMetric(took[1]/callers/each, "ns/insert")
	b.ReportMetric(took[1]/took[0], "throughput/raw")
}

// raceChild executes commands on request, and prints how long each took.
func raceChild(ctx context.Context, a *app.App) error {
	input := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	if _, err := input.ReadString('\n'); err != nil {
		return err
	}
	var took []time.Duration
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
		begin := time.Now()
		if _, err := app.DoRaw(ctx, a, Note{Name: "race"}); err != nil {
			return err
		}
		took = append(took, time.Since(begin))
	}
	if err := json.NewEncoder(os.Stdout).Encode(took); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, input)
	return err
}

// BenchmarkProcesses measures two processes that write at once.
func BenchmarkProcesses(b *testing.B) {
	var worst, shares []float64
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "log.db")
		pair := []child{startChild(b, "race", path), startChild(b, "race", path)}
		for _, c := range pair {
			c.line(b)
		}
		for _, c := range pair {
			fmt.Fprintln(c.in)
		}
		var counts []float64
		for _, c := range pair {
			var took []time.Duration
			fatal(b, json.Unmarshal([]byte(c.line(b)), &took))
			slices.Sort(took)
			worst = append(worst, float64(took[len(took)*99/100])/1e6)
			counts = append(counts, float64(len(took)))
			c.end(b)
		}
		shares = append(shares, min(counts[0], counts[1])/(counts[0]+counts[1]))
	}
	slices.Sort(worst)
	slices.Sort(shares)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(worst[len(worst)/2], "ms/p99")
	b.ReportMetric(shares[len(shares)/2], "share") // of the one that had less
}

// serveChild serves a query and a plain tool over standard input and output.
func serveChild(ctx context.Context, a *app.App) error {
	s := mcp.NewServer(mcp.Implementation{Name: "bench", Version: "1"}, mcp.Options{})
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)
	output := json.RawMessage(`{"type":"object","properties":{"count":{"type":"integer"},"n":{"type":"integer"}},"required":["count","n"]}`)
	err := mcp.AddTool(s, mcp.Tool{Name: "plain", InputSchema: schema, OutputSchema: output}, func(_ context.Context, in Look) (Seen, error) { return Seen{Count: 1, N: in.N}, nil })
	if err == nil {
		err = mcp.AddTool(s, mcp.Tool{Name: "query", InputSchema: schema, OutputSchema: output}, appmcp.Query[Look](a))
	}
	if err != nil {
		return err
	}
	return s.ServeStdio(ctx, os.Stdout)
}

// Look asks for the number of notes.
type Look struct {
	N int `json:"n"`
}

// Seen is the answer to Look.
type Seen struct {
	Count int `json:"count"`
	N     int `json:"n"`
}

func (q Look) Answer(_ context.Context, s *Tally) (Seen, error) { return Seen{s.Count, q.N}, nil }

// BenchmarkQuery compares a query over standard input and output with a plain tool of the same
// server. The target is at most 1.5 times.
func BenchmarkQuery(b *testing.B) {
	c := startChild(b, "serve", filepath.Join(b.TempDir(), "log.db"))
	fmt.Fprintln(c.in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`)
	c.line(b)
	fmt.Fprintln(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	call := func(tool string) func() {
		request := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"n":3}}}`+"\n", tool)
		return func() {
			for range 20 {
				_, err := io.WriteString(c.in, request)
				fatal(b, err)
				if answer := c.line(b); !strings.Contains(answer, `"n":3`) {
					b.Fatal(answer)
				}
			}
		}
	}
	took := medians(b, call("query"), call("plain"))
	c.end(b)
	b.ReportMetric(took[0]/20, "ns/query")
	b.ReportMetric(took[1]/20, "ns/tool")
	b.ReportMetric(took[0]/took[1], "query/tool")
}

// BenchmarkReplay compares replay with a scan of the same rows.
func BenchmarkReplay(b *testing.B) {
	const rows = 100_000
	path := filepath.Join(b.TempDir(), "log.db")
	fill(b, path, rows, func(seq int) any { return Note{Name: fmt.Sprint("note ", seq), By: 1} }, "tally/note")
	db, err := sql.Open("sqlite", path)
	fatal(b, err)
	defer db.Close()
	_, s := opened(b, path, app.Options{NoSnapshot: true})
	took := medians(b, func() {
		_, err := app.Open(b.Context(), s, app.Options{NoSnapshot: true}, tally())
		fatal(b, err)
	}, func() {
		found, err := db.Query("SELECT seq, id, at, type, version, data, key, result, actor FROM log ORDER BY seq")
		fatal(b, err)
		for found.Next() {
			var seq, at, version int64
			var id, kind string
			var data, result []byte
			var key, actor sql.NullString
			fatal(b, found.Scan(&seq, &id, &at, &kind, &version, &data, &key, &result, &actor))
		}
		fatal(b, found.Err())
	})
	b.ReportMetric(rows/took[0]*1e9, "replayed/s")
	b.ReportMetric(rows/took[1]*1e9, "scanned/s")
	b.ReportMetric(took[1]/took[0], "replay/scan")
}

// BenchmarkStart compares a start with a snapshot to one without, with 1,000,000 events about
// 10,000 things.
func BenchmarkStart(b *testing.B) {
	const events, things = 1_000_000, 10_000
	path := filepath.Join(b.TempDir(), "log.db")
	fill(b, path, events, func(seq int) any {
		return Change{ID: fmt.Sprint("thing ", seq%things), Text: fmt.Sprint("text ", seq)}
	}, "live/change")
	a, _ := opened(b, path, app.Options{Fingerprint: func(string) string { return "x" }})
	fatal(b, a.Snapshot(b.Context()))
	start := func(o app.Options) func() {
		return func() {
			s, err := sqlite.Open(b.Context(), path)
			fatal(b, err)
			o.Logger = slog.New(slog.DiscardHandler)
			_, err = app.Open(b.Context(), s, o, tally(), live())
			fatal(b, err)
			fatal(b, s.Close())
		}
	}
	took := medians(b, start(app.Options{Fingerprint: func(string) string { return "x" }}), start(app.Options{NoSnapshot: true}))
	b.ReportMetric(took[0]/1e6, "ms/snapshot")
	b.ReportMetric(took[1]/1e6, "ms/replay")
	b.ReportMetric(took[0]/took[1], "snapshot/replay")
}

// fill appends events to a log in large batches.
func fill(b *testing.B, path string, events int, command func(seq int) any, kind string) {
	b.Helper()
	s, err := sqlite.Open(b.Context(), path)
	fatal(b, err)
	for first := 1; first <= events; first += 10_000 {
		var records []eventlog.Record
		for seq := first; seq < first+10_000; seq++ {
			data, err := json.Marshal(command(seq))
			fatal(b, err)
			records = append(records, eventlog.Record{Seq: int64(seq), ID: fmt.Sprintf("%016d", seq), Time: time.Now(), Actor: actor, Type: kind, Version: 1, Data: data})
		}
		fatal(b, s.Write(b.Context(), func(tx eventlog.Tx) error { return tx.Append(records...) }))
	}
	fatal(b, s.Close())
}

// Live is a state of many things, each with its last text.
type Live struct {
	Things map[string]*Thing `json:"things"`
}

// A Thing is one of them.
type Thing struct {
	ID      string    `json:"id"`
	Text    string    `json:"text"`
	Changes int       `json:"changes"`
	Changed time.Time `json:"changed"`
}

// Change changes a thing.
type Change struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func (c Change) Check(context.Context, *Live) error { return nil }

func (c Change) Apply(s *Live, e app.Event) int {
	t := s.Things[c.ID]
	if t == nil {
		t = &Thing{ID: c.ID}
		s.Things[c.ID] = t
	}
	t.Text, t.Changes, t.Changed = c.Text, t.Changes+1, e.Time
	return t.Changes
}

func live() app.Feature {
	return app.Feature{
		Name:     "live",
		State:    app.StateOf(func() *Live { return &Live{Things: map[string]*Thing{}} }),
		Commands: []app.CommandType{app.CommandTypeOf[Change]("change", 1)},
	}
}
