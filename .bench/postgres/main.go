// Postgres measures the event log in PostgreSQL next to plain pgx with the same durability, and
// fails if a target is missed.
//
//	.ci/postgres go -C .bench run ./postgres
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/postgres"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "postgres:", err)
		os.Exit(1)
	}
}

// A target is a bound of a figure. As in the other benchmarks, the figure may miss it by 10 %, and
// a figure that misses it is measured twice more, because machines are noisy. Then the median of
// the three counts.
type target struct {
	title   string
	atLeast bool // or at most
	bound   float64
	measure func(context.Context, *bench) (figure float64, detail string, err error)
}

func (t target) isMetBy(figure float64) bool {
	if t.atLeast {
		return figure >= t.bound*0.9
	}
	return figure <= t.bound*1.1
}

func targets() []target {
	return []target{
		{"durable command ÷ insert with its commit", false, 1.5, measureCommand},
		{"64 callers: commands/s ÷ inserts/s in batches of 64", true, 0.6, measureCallers},
		{"replay: events/s ÷ rows/s of a scan", true, 0.3, measureReplay},
		{"follow-up in another process ÷ NOTIFY, LISTEN, SELECT", false, 3, measureFollow},
	}
}

// A bench is the state of a run.
type bench struct {
	address string
	time    time.Duration // of one measurement
	raw     *pgx.Conn
}

// rawSchema and appSchema are the schemas of the tables of plain pgx and of the app.
const (
	rawSchema = "bench_raw"
	appSchema = "bench_app"
)

// childVariable makes this program follow the log until its input ends.
const childVariable = "BENCH_CHILD"

func run(ctx context.Context) error {
	each := flag.Duration("time", 2*time.Second, "duration of one measurement")
	flag.Parse()
	b := &bench{address: os.Getenv("PETROCK_POSTGRES"), time: *each}
	switch {
	case os.Getenv(childVariable) != "":
		return follow(ctx, b)
	case b.address == "":
		return errors.New("PETROCK_POSTGRES is not set; run .ci/postgres go -C .bench run ./postgres")
	}
	var err error
	if b.raw, err = pgx.Connect(ctx, b.address); err != nil {
		return err
	}
	defer b.raw.Close(ctx)
	missed := 0
	for _, t := range targets() {
		met, err := b.meets(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.title, err)
		}
		if !met {
			missed++
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d targets missed", missed)
	}
	return nil
}

// meets measures the figure of a target, prints it, and returns whether the target is met.
func (b *bench) meets(ctx context.Context, t target) (bool, error) {
	var figures []float64
	for {
		if err := b.reset(ctx); err != nil {
			return false, err
		}
		figure, detail, err := t.measure(ctx, b)
		if err != nil {
			return false, err
		}
		figures = append(figures, figure)
		sign := "≤"
		if t.atLeast {
			sign = "≥"
		}
		fmt.Printf("%-54s %6.2f  %s %-4g  %s\n", t.title, figure, sign, t.bound, detail)
		if len(figures) == 1 && t.isMetBy(figure) {
			return true, nil
		}
		if len(figures) < 3 {
			continue
		}
		slices.Sort(figures)
		verdict := "met"
		if !t.isMetBy(figures[1]) {
			verdict = "MISSED"
		}
		fmt.Printf("%-54s %6.2f  median of three: %s\n", "", figures[1], verdict)
		return t.isMetBy(figures[1]), nil
	}
}

// reset removes both schemas, and creates the table of plain pgx, which is like that of the log.
func (b *bench) reset(ctx context.Context) error {
	_, err := b.raw.Exec(ctx, `
		SET client_min_messages = warning;
		DROP SCHEMA IF EXISTS `+rawSchema+` CASCADE;
		DROP SCHEMA IF EXISTS `+appSchema+` CASCADE;
		CREATE SCHEMA `+rawSchema+`;
		CREATE TABLE `+rawSchema+`.log (seq bigint PRIMARY KEY, id bytea NOT NULL, at timestamptz NOT NULL, type text NOT NULL,
			version integer NOT NULL, data bytea NOT NULL, key bytea, result bytea)`)
	return err
}

const insertSQL = "INSERT INTO " + rawSchema + ".log (seq, id, at, type, version, data, key, result) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"

// row returns the values of a row.
func row(seq int64) []any {
	data, _ := json.Marshal(note(seq))
	return []any{seq, fmt.Appendf(nil, "%016d", seq), time.Now(), "notes/note", 1, data, nil, nil}
}

// open opens the app on its schema.
func (b *bench) open(ctx context.Context) (*app.App, *postgres.Store, error) {
	s, err := postgres.Open(ctx, b.address, appSchema, eventlog.OpenOrCreate)
	if err != nil {
		return nil, nil, err
	}
	a, err := app.Open(ctx, s, options(), notes())
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	time.Sleep(100 * time.Millisecond) // until the store listens
	return a, s, nil
}

func options() app.Options {
	return app.Options{Logger: slog.New(slog.DiscardHandler), NoSnapshot: true}
}

// compare calls functions in turn until the time is over, and returns the median durations.
func (b *bench) compare(fs ...func() error) ([]time.Duration, error) {
	took := make([][]time.Duration, len(fs))
	const warmUp = 5
	for end := time.Now().Add(b.time); time.Now().Before(end) || len(took[0]) < 2*warmUp; {
		for i, f := range fs {
			begin := time.Now()
			if err := f(); err != nil {
				return nil, err
			}
			took[i] = append(took[i], time.Since(begin))
		}
	}
	var medians []time.Duration
	for _, t := range took {
		t = t[warmUp:]
		slices.Sort(t)
		medians = append(medians, t[len(t)/2])
	}
	return medians, nil
}

func measureCommand(ctx context.Context, b *bench) (float64, string, error) {
	a, s, err := b.open(ctx)
	if err != nil {
		return 0, "", err
	}
	defer s.Close()
	n, m := int64(0), int64(0)
	took, err := b.compare(func() error {
		n++
		_, err := app.DoRaw(ctx, a, note(n))
		return err
	}, func() error {
		m++
		_, err := b.raw.Exec(ctx, insertSQL, row(m)...)
		return err
	})
	if err != nil {
		return 0, "", err
	}
	return float64(took[0]) / float64(took[1]), fmt.Sprintf("%v, %v", took[0], took[1]), nil
}

func measureCallers(ctx context.Context, b *bench) (float64, string, error) {
	const callers, each = 64, 8
	a, s, err := b.open(ctx)
	if err != nil {
		return 0, "", err
	}
	defer s.Close()
	m := int64(0)
	took, err := b.compare(func() error {
		var group sync.WaitGroup
		errs := make([]error, callers)
		for caller := range callers {
			group.Go(func() {
				for range each {
					if _, err := app.DoRaw(ctx, a, note(int64(caller))); err != nil {
						errs[caller] = err
					}
				}
			})
		}
		group.Wait()
		return errors.Join(errs...)
	}, func() error {
		for range each {
			batch := &pgx.Batch{}
			for range callers {
				m++
				batch.Queue(insertSQL, row(m)...)
			}
			if err := b.raw.SendBatch(ctx, batch).Close(); err != nil { // in one transaction
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, "", err
	}
	rate := func(took time.Duration) float64 { return callers * each / took.Seconds() }
	return rate(took[0]) / rate(took[1]), fmt.Sprintf("%.0f/s, %.0f/s", rate(took[0]), rate(took[1])), nil
}

func measureReplay(ctx context.Context, b *bench) (float64, string, error) {
	const events, chunk = 50_000, 5_000
	_, s, err := b.open(ctx)
	if err != nil {
		return 0, "", err
	}
	defer s.Close()
	for first := int64(1); first <= events; first += chunk {
		var records []eventlog.Record
		for seq := first; seq < first+chunk; seq++ {
			data, _ := json.Marshal(note(seq))
			records = append(records, eventlog.Record{Seq: seq, ID: fmt.Sprintf("%016d", seq), Time: time.Now(), Type: "notes/note", Version: 1, Data: data})
		}
		if err := s.Write(ctx, func(tx eventlog.Tx) error { return tx.Append(records...) }); err != nil {
			return 0, "", err
		}
	}
	took, err := b.compare(func() error {
		_, err := app.Open(ctx, s, options(), notes())
		return err
	}, func() error {
		rows, err := b.raw.Query(ctx, "SELECT seq, id, at, type, version, data, key, result FROM "+appSchema+".log ORDER BY seq")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var seq int64
			var version int
			var at time.Time
			var kind string
			var id, data, key, result []byte
			if err := rows.Scan(&seq, &id, &at, &kind, &version, &data, &key, &result); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	if err != nil {
		return 0, "", err
	}
	rate := func(took time.Duration) float64 { return events / took.Seconds() }
	return rate(took[0]) / rate(took[1]), fmt.Sprintf("%.0f/s, %.0f/s", rate(took[0]), rate(took[1])), nil
}

// measureFollow executes commands and plain inserts in turn, at random intervals, and measures how
// long after each answer another process has applied the event, or has read the row. Plain pgx
// notifies after the commit too: a notification in a transaction makes the commits of all databases
// of the server wait for each other. The figure is the ratio of the medians, because a busy machine
// delays some of both by a multiple.
func measureFollow(ctx context.Context, b *bench) (float64, string, error) {
	a, s, err := b.open(ctx)
	if err != nil {
		return 0, "", err
	}
	defer s.Close()
	self, err := os.Executable()
	if err != nil {
		return 0, "", err
	}
	child := exec.Command(self)
	child.Env, child.Stderr = append(os.Environ(), childVariable+"=1"), os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		return 0, "", err
	}
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		return 0, "", err
	}
	defer child.Process.Kill()
	notifier, err := pgx.Connect(ctx, b.address)
	if err != nil {
		return 0, "", err
	}
	defer notifier.Close(ctx)
	decoder := json.NewDecoder(out)
	var ready bool
	if err := decoder.Decode(&ready); err != nil {
		return 0, "", err
	}
	var answered, inserted []time.Time
	for end := time.Now().Add(3 * b.time); time.Now().Before(end); {
		time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
		if _, err := app.DoRaw(ctx, a, note(int64(len(answered)))); err != nil {
			return 0, "", err
		}
		answered = append(answered, time.Now())
		time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
		if _, err := b.raw.Exec(ctx, insertSQL, row(int64(len(inserted)+1))...); err != nil {
			return 0, "", err
		}
		inserted = append(inserted, time.Now())
		if _, err := notifier.Exec(ctx, "SELECT pg_notify($1, '')", rawSchema); err != nil {
			return 0, "", err
		}
	}
	time.Sleep(500 * time.Millisecond)
	in.Close()
	var seen seenTimes
	if err := decoder.Decode(&seen); err != nil {
		return 0, "", err
	}
	took, err := delays(answered, seen.Events)
	if err != nil {
		return 0, "", err
	}
	floor, err := delays(inserted, seen.Rows)
	if err != nil {
		return 0, "", err
	}
	at := func(sorted []float64, percent int) float64 { return sorted[len(sorted)*percent/100] }
	detail := fmt.Sprintf("%.2f ms, %.2f ms; p95 %.2f, %.2f; p99 %.2f, %.2f; %d events", at(took, 50), at(floor, 50), at(took, 95), at(floor, 95), at(took, 99), at(floor, 99), len(took))
	return at(took, 50) / at(floor, 50), detail, child.Wait()
}

// seenTimes says when a process has applied each event of the log, and has read each row of the
// table of plain pgx, by their numbers, from 1.
type seenTimes struct {
	Events, Rows map[int64]time.Time
}

// delays returns the milliseconds from each answer to the time at which its number was seen,
// sorted.
func delays(answered []time.Time, seen map[int64]time.Time) ([]float64, error) {
	var took []float64
	for i, at := range answered {
		when, ok := seen[int64(i+1)]
		if !ok {
			return nil, fmt.Errorf("the other process has not seen number %d of %d", i+1, len(answered))
		}
		took = append(took, max(0, when.Sub(at).Seconds()*1000))
	}
	slices.Sort(took)
	return took, nil
}

// follow follows the log and the table of plain pgx until its input ends, and prints what it has
// seen when.
func follow(ctx context.Context, b *bench) error {
	a, s, err := b.open(ctx)
	if err != nil {
		return err
	}
	listener, err := pgx.Connect(ctx, b.address)
	if err != nil {
		return err
	}
	defer listener.Close(context.Background())
	if _, err := listener.Exec(ctx, "LISTEN "+rawSchema); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	group.Go(func() { a.Run(ctx) })
	rows := map[int64]time.Time{}
	group.Go(func() { readNew(ctx, listener, rows) })
	fmt.Println(true)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	stop()
	group.Wait()
	events, err := app.Query(app.With(context.Background(), a), Seen{})
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(seenTimes{events, rows}), s.Close())
}

// readNew reads the new rows of the table of plain pgx after each notification, until the context
// ends, and records when it has read them.
func readNew(ctx context.Context, listener *pgx.Conn, seen map[int64]time.Time) {
	last := int64(0)
	for {
		if _, err := listener.WaitForNotification(ctx); err != nil {
			return
		}
		rows, err := listener.Query(ctx, "SELECT seq FROM "+rawSchema+".log WHERE seq > $1 ORDER BY seq", last)
		if err != nil {
			return
		}
		for rows.Next() {
			if err := rows.Scan(&last); err != nil {
				return
			}
			seen[last] = time.Now()
		}
	}
}

// State records when each event was applied. A real state must not: replay would differ.
type State struct {
	Applied map[int64]time.Time
	Notes   map[int64]string
}

// Note is a small command.
type Note struct {
	N    int64  `json:"n"`
	Text string `json:"text"`
}

func note(n int64) Note { return Note{N: n % 100, Text: "a text of some length"} }

// Check accepts every note.
func (Note) Check(context.Context, *State) error { return nil }

// Apply stores the note.
func (c Note) Apply(s *State, e app.Event) int {
	s.Notes[c.N] = c.Text
	if os.Getenv(childVariable) != "" {
		s.Applied[e.Seq] = time.Now()
	}
	return len(s.Notes)
}

// Seen asks when each event was applied.
type Seen struct{}

// Answer returns the times.
func (Seen) Answer(_ context.Context, s *State) (map[int64]time.Time, error) { return s.Applied, nil }

func notes() app.Feature {
	return app.Feature{
		Name:     "notes",
		State:    app.StateOf(func() *State { return &State{Applied: map[int64]time.Time{}, Notes: map[int64]string{}} }),
		Commands: []app.CommandType{app.CommandTypeOf[Note]("note", 1)},
		Queries:  []app.QueryType{app.QueryTypeOf[Seen]("seen")},
	}
}
