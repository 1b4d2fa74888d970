package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A report has the figures of a run.
type report struct {
	o          options
	calm, rest window
	writers    []*user
	acks       map[*user][]ack
	followers  []*follower
	worked     []time.Duration // from a command to its follow-up by the worker
	lag        []time.Duration // the same, without faults
	calls      []int64         // for each server
	d          *deployment
	texts      map[string]int
	faults     []string
}

// A window is a part of the run.
type window struct {
	begin, end time.Time
}

func (w window) includes(t time.Time) bool { return !t.Before(w.begin) && t.Before(w.end) }

// deploy runs the deployment with its load and its faults, and checks the result.
func deploy(ctx context.Context, o options, errOut io.Writer) (*report, error) {
	d, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer d.kill()
	r := &report{o: o, d: d, acks: map[*user][]ack{}}
	l := &load{url: d.url, keys: !o.noKeys, roll: o.rolling > 0 || o.rollout, texts: map[string]int{}}
	l.calm.Store(o.kill > 0 || l.roll)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var writing, following sync.WaitGroup
	var mu sync.Mutex
	var last atomic.Int64
	for _, k := range kinds(o.bridge) {
		for i := range o.writers {
			u := &user{kind: k, l: l, updated: func() {}}
			r.writers = append(r.writers, u)
			writing.Go(func() {
				acks := u.write(ctx, fmt.Sprintf("%s %d", k.name, i+1))
				mu.Lock()
				defer mu.Unlock()
				r.acks[u] = acks
			})
		}
		for range o.readers {
			f := &follower{user: user{kind: k, l: l}}
			r.followers = append(r.followers, f)
			following.Go(func() { f.follow(ctx, &last) })
		}
	}
	sleep(ctx, time.Second) // until all have connected
	r.calm.begin = time.Now()
	sleep(ctx, o.calm)
	r.calm.end = time.Now()
	l.calm.Store(false)
	r.rest.begin = r.calm.end
	if o.rollout {
		err = d.rollOut(ctx, errOut)
	} else if o.rolling > 0 {
		err = d.roll(ctx, errOut)
	} else if o.kill > 0 {
		breaking, stop := context.WithTimeout(ctx, o.time)
		err = d.breakThings(breaking, errOut)
		stop()
	} else {
		sleep(ctx, o.time)
	}
	r.rest.end = time.Now()
	l.stop.Store(true)
	writing.Wait()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	fmt.Fprintln(errOut, "waiting for the worker and the followers")
	log, err := d.settle(ctx)
	if err != nil {
		return nil, err
	}
	last.Store(log[len(log)-1].Seq)
	following.Wait()
	r.check(l, log)
	for _, s := range d.servers {
		r.calls = append(r.calls, s.calls.Load())
		if s.calls.Load() == 0 {
			r.faults = append(r.faults, "server "+s.addr+" had no calls")
		}
	}
	for _, f := range r.followers {
		if f.last != last.Load() {
			r.faults = append(r.faults, fmt.Sprintf("%s: followed to event %d of %d", f.name, f.last, last.Load()))
		}
		f.close()
	}
	for _, u := range r.writers {
		u.close()
	}
	d.stopProxy()
	var ending sync.WaitGroup
	for _, s := range d.servers {
		ending.Go(func() {
			if err := s.end(syscall.SIGTERM); err != nil {
				l.faultf("%v", err)
			}
		})
	}
	ending.Wait()
	if out, err := d.run(ctx, "replay"); err != nil {
		r.faults = append(r.faults, fmt.Sprintf("replay: %v: %s", err, out))
	}
	r.texts, r.faults = l.texts, append(r.faults, l.fault...)
	return r, nil
}

// run runs a command of the server's program, and returns its output.
func (d *deployment) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, d.o.program, args...)
	cmd.Env, cmd.Dir, cmd.Stderr = d.env, d.dir, os.Stderr
	return cmd.Output()
}

// An event is an event of hello log.
type event struct {
	Seq     int64
	ID      string
	Time    time.Time
	Type    string
	Version int
	Data    struct{ ID, Title string }
}

// worker returns the status of the worker.
func (d *deployment) worker(ctx context.Context) (w struct {
	Name, Process    string
	Position, Behind int64
	Aside            []any
}, err error) {
	out, err := d.run(ctx, "workers", "--json")
	if err != nil {
		return w, err
	}
	all := []any{&w}
	if err := json.Unmarshal(out, &all); err != nil || w.Name == "" {
		return w, fmt.Errorf("workers: %w: %s", err, out)
	}
	return w, nil
}

// settle waits until the worker has handled all commands, and returns the log. It is an error if
// the worker makes no progress for a minute.
func (d *deployment) settle(ctx context.Context) (log []event, err error) {
	position, moved := int64(-1), time.Now()
	for {
		w, err := d.worker(ctx)
		if err != nil {
			return nil, err
		}
		if w.Position != position {
			position, moved = w.Position, time.Now()
		}
		out, err := d.run(ctx, "log", "--json")
		if err != nil {
			return nil, err
		}
		if log, err = decodeLog(out); err != nil {
			return nil, err
		}
		handled := true
		for _, e := range log {
			handled = handled && (e.Type != updateType || e.Seq <= w.Position)
		}
		switch {
		case len(w.Aside) > 0:
			return nil, fmt.Errorf("the worker has set events aside: %v", w.Aside)
		case handled && len(log) > 0:
			return log, nil
		case time.Since(moved) > time.Minute:
			return nil, fmt.Errorf("the worker has been at event %d of %d for a minute", w.Position, len(log))
		}
		sleep(ctx, time.Second)
	}
}

func decodeLog(text []byte) (log []event, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		log = append(log, e)
	}
	return log, lines.Err()
}

// check compares the acknowledged commands with the log.
func (r *report) check(l *load, log []event) {
	byType := map[string]map[string]event{createType: {}, updateType: {}, publishType: {}}
	for i, e := range log {
		if e.Seq != int64(i+1) {
			l.faultf("the log has event %d at position %d", e.Seq, i+1)
		}
		if byType[e.Type] == nil {
			continue // of the log itself, such as an amendment
		}
		key := cmp.Or(e.Data.Title, e.Data.ID)
		if first, ok := byType[e.Type][key]; ok {
			l.faultf("%s %s was executed twice: events %d and %d", e.Type, key, first.Seq, e.Seq)
		}
		byType[e.Type][key] = e
	}
	acknowledged := 0
	for _, acks := range r.acks {
		for _, a := range acks {
			acknowledged++
			e, ok := byType[a.eventType][a.title]
			if !ok || cmp.Or(e.Data.ID, e.ID) != a.id || a.eventType == createType && e.Seq != a.seq {
				l.faultf("%s %q was acknowledged (id %s, event %d), and the log has %+v", a.eventType, a.title, a.id, a.seq, e)
			}
		}
	}
	updated, published := byType[updateType], byType[publishType]
	if executed := len(byType[createType]) + len(updated); acknowledged == 0 || acknowledged != executed {
		l.faultf("%d commands were acknowledged, and the log has %d", acknowledged, executed)
	}
	if len(published) != len(updated) {
		l.faultf("the worker has published %d posts, want %d", len(published), len(updated))
	}
	for _, e := range updated {
		follow, ok := published[e.Data.ID]
		if !ok {
			l.faultf("the worker has not handled event %d", e.Seq)
		} else if r.calm.includes(e.Time) {
			r.lag = append(r.lag, follow.Time.Sub(e.Time))
		} else if r.rest.includes(e.Time) {
			r.worked = append(r.worked, follow.Time.Sub(e.Time))
		}
	}
}

// write writes the figures.
func (r *report) write(out io.Writer) {
	print := func(format string, args ...any) { fmt.Fprintf(out, format, args...) }
	print("%d kills of a server, %d rolling restarts, %d restarts of PostgreSQL, %d suspended; calls of the servers: %d\n\n", r.d.kills.Load(), r.d.restarted, r.d.restarts.Load(), r.d.stalls.Load(), r.calls)
	later := "with faults"
	if r.o.kill == 0 {
		later = "without faults, continued"
	}
	if r.o.rolling > 0 {
		later = "with rolling restarts"
	}
	print("%-34s %9s %7s %8s %8s %8s\n", "", "commands", "a second", "median", "p99", "maximum")
	for _, w := range []struct {
		title string
		window
	}{{"without faults", r.calm}, {later, r.rest}} {
		var took []time.Duration
		for _, acks := range r.acks {
			for _, a := range acks {
				if w.includes(a.begin) {
					took = append(took, a.took)
				}
			}
		}
		print("%-34s %9d %7.0f %s\n", w.title, len(took), float64(len(took))/w.end.Sub(w.begin).Seconds(), times(took))
	}
	print("\n%-34s %9s %7s %10s %10s %8s %8s %8s\n", "client", "commands", "errors", "continued", "reconnects", "median", "p99", "maximum")
	for i := 0; i < len(r.writers); i += r.o.writers {
		var total user
		var took []time.Duration
		for _, u := range r.writers[i : i+r.o.writers] {
			total.errors += u.errors
			total.continued += u.continued
			total.reconnected += u.reconnected - 1 // the last one is the end
			for _, a := range r.acks[u] {
				took = append(took, a.took)
			}
		}
		print("%-34s %9d %7d %10d %10d %s\n", r.writers[i].name, len(took), total.errors, total.continued, total.reconnected, times(took))
	}
	print("\n%-34s %9s %7s %10s %10s %8s %8s %8s\n", "subscription", "events", "errors", "notified", "reconnects", "median", "p99", "maximum")
	for _, f := range r.followers {
		print("%-34s %9d %7d %10d %10d %s  ended silently: %d\n", f.name, f.last, f.errors, f.notified, f.reconnected-1, times(f.took), f.silent)
	}
	print("\n%-34s %9s %17s %8s %8s\n", "follow-up by the worker", "events", "median", "p99", "maximum")
	print("%-34s %9d          %s\n", "without faults", len(r.lag), times(r.lag))
	print("%-34s %9d          %s\n", later, len(r.worked), times(r.worked))
	print("\nerrors, all retried:\n")
	for _, text := range slices.SortedFunc(maps.Keys(r.texts), func(a, b string) int { return r.texts[b] - r.texts[a] }) {
		print("%7d  %s\n", r.texts[text], text)
	}
}

// times returns the median, the 99th percentile and the maximum.
func times(all []time.Duration) string {
	if len(all) == 0 {
		return "       -"
	}
	slices.Sort(all)
	ms := func(i int) string { return fmt.Sprintf("%5.1f ms", float64(all[i].Microseconds())/1000) }
	return fmt.Sprintf("%s %s %s", ms(len(all)/2), ms(len(all)*99/100), ms(len(all)-1))
}
