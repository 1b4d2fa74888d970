package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long a client repeats a call before the test fails.
const patience = 90 * time.Second

// callTimeout is how long a client waits for one answer. It exceeds the 30 s in which a server
// waits for the database.
const callTimeout = 40 * time.Second

// One of updateEach posts is updated, and the worker publishes it.
const updateEach = 20

// Types of events.
const (
	createType  = "posts/create"
	updateType  = "posts/update"
	publishType = "posts/publish"
)

// An ack is a command that was acknowledged.
type ack struct {
	eventType string
	title     string // of the post
	id        string // of the post
	seq       int64  // of a create
	begin     time.Time
	took      time.Duration
}

// A user is a client that reconnects after errors. It is used by one goroutine.
type user struct {
	kind
	l       *load
	conn    connection
	updated func()

	errors, continued, reconnected int
	inRow                          int // failed calls since the last success
}

// A load holds the results of all clients.
type load struct {
	url   string
	keys  bool        // send idempotency keys
	stop  atomic.Bool // no new commands
	calm  atomic.Bool // no call may fail
	roll  bool        // stateless calls may not fail, others only if their session ended
	mu    sync.Mutex
	texts map[string]int // errors
	fault []string
}

func (l *load) faultf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = append(l.fault, fmt.Sprintf(format, args...))
}

// failed counts an error.
func (l *load) failed(u *user, what string, err error) {
	text := err.Error()
	if len(text) > 160 {
		text = text[:160]
	}
	if l.calm.Load() || l.roll && (strings.HasSuffix(u.name, stateless) || !strings.Contains(text, "ession")) {
		l.faultf("%s: %s failed without a fault: %s", u.name, what, text)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.texts[what+": "+generalize(text)]++
}

var requestID = regexp.MustCompile(`"id":\d+`)

// generalize replaces request ids and addresses, which differ from error to error.
func generalize(text string) string {
	text = requestID.ReplaceAllString(text, `"id":…`)
	words := strings.Fields(text)
	for i, word := range words {
		if strings.Contains(word, "127.0.0.1:") || strings.Contains(word, "petrock-postgres.") {
			words[i] = "…"
		}
	}
	return strings.Join(words, " ")
}

// do calls f with a connection until it succeeds. It reconnects after two failures in a row, as a
// user of any SDK can.
func (u *user) do(ctx context.Context, what string, f func(context.Context, connection) error) error {
	for begin := time.Now(); ; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err := u.try(ctx, f)
		if err == nil {
			if u.inRow > 0 {
				u.continued++
			}
			u.inRow = 0
			return nil
		}
		u.errors++
		u.inRow++
		u.l.failed(u, what, err)
		if time.Since(begin) > patience {
			u.l.faultf("%s: %s failed for %v: %v", u.name, what, patience, err)
			return err
		}
		if u.inRow >= 2 {
			u.close()
		}
		sleep(ctx, min(time.Second, 50*time.Millisecond<<min(u.inRow, 5)))
	}
}

func (u *user) try(ctx context.Context, f func(context.Context, connection) error) error {
	if u.l.roll {
		ctx = context.WithValue(ctx, watcherKey{}, &watcher{func(text string) { u.l.faultf("%s: %s", u.name, text) }})
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if u.conn == nil {
		conn, err := u.dial(ctx, u.l.url, u.updated)
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		u.conn = conn
	}
	return f(ctx, u.conn)
}

func (u *user) close() {
	if u.conn != nil {
		u.conn.close()
		u.conn = nil
		u.reconnected++
	}
}

// write executes commands until the load stops, and returns those that were acknowledged. Every
// fourth create is followed by a query, which any server may answer, and which must see the post.
func (u *user) write(ctx context.Context, name string) (acks []ack) {
	execute := func(a ack, tool string, arguments map[string]any, key string) (_ ack, err error) {
		if !u.l.keys {
			key = ""
		}
		a.begin = time.Now()
		err = u.do(ctx, tool, func(ctx context.Context, c connection) error {
			raw, err := c.call(ctx, tool, arguments, key)
			if err != nil {
				return err
			}
			return decodePost(raw, a.title, &a)
		})
		a.took = time.Since(a.begin)
		if err == nil {
			acks = append(acks, a)
		}
		return a, err
	}
	for n := 1; !u.l.stop.Load(); n++ {
		title := fmt.Sprintf("%s %d", name, n)
		a, err := execute(ack{eventType: createType, title: title}, "posts_create", map[string]any{"title": title, "status": "draft"}, title)
		if err == nil && n%4 == 0 {
			err = u.get(ctx, a)
		}
		if err == nil && n%updateEach == 0 {
			title += " updated"
			_, err = execute(ack{eventType: updateType, title: title}, "posts_update", map[string]any{"id": a.id, "title": title}, title)
		}
		if err != nil {
			break
		}
	}
	return acks
}

// get reads a post, which must exist.
func (u *user) get(ctx context.Context, a ack) error {
	return u.do(ctx, "posts_get", func(ctx context.Context, c connection) error {
		raw, err := c.call(ctx, "posts_get", map[string]any{"id": a.id}, "")
		if err == nil {
			return decodePost(raw, a.title, &a)
		}
		if strings.Contains(err.Error(), "no post") {
			u.l.faultf("%s: a query does not see event %d, which was acknowledged before: %v", u.name, a.seq, err)
		}
		return err
	})
}

// decodePost sets the id and the sequence number of a post, which must have the title.
func decodePost(raw []byte, title string, a *ack) error {
	var post struct {
		ID    string
		Seq   int64
		Title string
	}
	if err := json.Unmarshal(raw, &post); err != nil {
		return err
	}
	if post.Title != title || post.ID == "" {
		return fmt.Errorf("got the post %s, want the title %q", raw, title)
	}
	a.id, a.seq = post.ID, post.Seq
	return nil
}

// A follower subscribes to the log and reads it.
type follower struct {
	user
	last     int64 // sequence number
	notified int   // events that a notification announced
	silent   int   // times that a subscription had ended without the client noticing
	took     []time.Duration
}

// pollEvery is how often a follower reads the log without a notification.
const pollEvery = 2 * time.Second

// follow reads the log until it has the event until, which is 0 as long as it is not known.
func (f *follower) follow(ctx context.Context, until *atomic.Int64) {
	updates := make(chan struct{}, 1)
	f.updated = func() {
		select {
		case updates <- struct{}{}:
		default:
		}
	}
	var subscribed connection
	polled := 0 // reads in a row that found events without a notification
	for until.Load() == 0 || f.last < until.Load() {
		err := f.do(ctx, "subscribe", func(ctx context.Context, c connection) error {
			if c == subscribed {
				return nil
			}
			if err := c.subscribe(ctx, "app://log"); err != nil {
				return err
			}
			subscribed, polled = c, 0
			return nil
		})
		if err != nil {
			return
		}
		notified := false
		select {
		case <-ctx.Done():
			return
		case <-updates:
			notified = true
		case <-time.After(pollEvery):
		}
		before := f.last
		if err := f.do(ctx, "read", func(ctx context.Context, c connection) error { return f.readAll(ctx, c, notified) }); err != nil {
			return
		}
		switch {
		case notified:
			polled = 0
		case f.last > before:
			polled++
		}
		if polled == 2 {
			f.silent++
			f.close()
			polled = 0
		}
	}
}

// readAll reads the log to its end.
func (f *follower) readAll(ctx context.Context, c connection, notified bool) error {
	for {
		text, err := c.read(ctx, fmt.Sprintf("app://log?after=%d&limit=1000", f.last))
		if err != nil {
			return err
		}
		var page struct {
			Events []struct {
				Seq  int64
				Time time.Time
			}
			Last int64
		}
		if err := json.Unmarshal([]byte(text), &page); err != nil {
			return err
		}
		now := time.Now()
		for _, e := range page.Events {
			if e.Seq != f.last+1 {
				f.l.faultf("%s: event %d follows event %d", f.name, e.Seq, f.last)
			}
			f.last = e.Seq
			f.took = append(f.took, now.Sub(e.Time))
			if notified {
				f.notified++
			}
		}
		if len(page.Events) == 0 || f.last >= page.Last {
			return nil
		}
	}
}
