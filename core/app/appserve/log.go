package appserve

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// pollEvery is the polling interval of --follow.
const pollEvery = 200 * time.Millisecond

// A logView selects and formats events.
type logView struct {
	follow, json     bool
	after, before    int64 // exclusive; 0 for none
	limit, newest    int64
	types            []string // patterns
	actor, cause     string
	text             string // in the data, in any case
	since, until     string // as given
	earliest, latest time.Time
}

func (d *Data) newLog() *cobra.Command {
	var v logView
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show the event log",
		Long: `Show the event log, oldest first: the number, time, actor, type, data and amendment of each event.
The actor is the caller: the subject of a token, the name of an API key, local:USER, worker:WORKER,
anonymous, or - if the event has none. On a terminal the data is shortened; log show prints all of
it. The output is text, even in a file or a pipe, unless --json is given. With --json, and in log
show, an event has its cause: the worker and the event that the worker handled, or the request, its
tool, session and traceparent.

Several flags must all match. A time is 2026-05-12, 2026-05-12 09:30:00 (UTC), a time of RFC 3339, or a
duration before now, such as 2h.

Servers can keep running. If an event cannot be applied, amend it with log skip, log map or log
restore. To remove the content of events for good, use log erase. To let an older build read them, use
log downgrade.`,
		Example: d.examples("log --last 20", "log --after 100 --before 120", "log --since 2h --type posts/create,'*/delete'", "log --cause posts/digest",
			"log --follow --actor local:ada", "log --json | jq .type", "log show 17", "log types"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := v.check(time.Now()); err != nil {
				return err
			}
			ctx, stop := untilInterrupted(cmd)
			defer stop()
			return d.withStore(ctx, func(store eventlog.Store) error { return v.print(ctx, store, cmd.OutOrStdout(), cmd.ErrOrStderr()) })
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&v.follow, "follow", "f", false, "show new events as they are appended, until interrupted")
	flags.BoolVar(&v.json, "json", false, "print each complete event as a line of JSON")
	flags.Int64Var(&v.after, "after", 0, "start after the event with this number")
	flags.Int64Var(&v.before, "before", 0, "end before the event with this number (default the end)")
	flags.Int64Var(&v.limit, "limit", 0, "maximum number of events (default all)")
	flags.Int64Var(&v.newest, "last", 0, "show only the newest events, this many")
	flags.StringVar(&v.since, "since", "", "show events from this `TIME` on")
	flags.StringVar(&v.until, "until", "", "show events before this `TIME`")
	flags.StringSliceVar(&v.types, "type", nil, "show events of these types, such as posts/create or '*/delete', or of these features, such as posts")
	flags.StringVar(&v.actor, "actor", "", "show events of this actor, such as local:ada")
	flags.StringVar(&v.text, "text", "", "show events whose data contains this text, in upper or lower case")
	flags.StringVar(&v.cause, "cause", "", "show events that this worker, tool or event caused, such as posts/digest, posts_create or 17")
	cmd.AddCommand(d.newShow(), d.newSkip(), d.newMap(), d.newRestore(), d.newErase(), d.newDowngrade(), d.newCopy(), d.newTypes(), d.newSample())
	return cmd
}

// check returns an error for wrong flags, and reads the times.
func (v *logView) check(now time.Time) (err error) {
	switch {
	case v.after < 0 || v.before < 0 || v.limit < 0 || v.newest < 0:
		return terminal.Usagef("--after, --before, --limit and --last must not be negative")
	case v.limit > 0 && v.newest > 0:
		return terminal.Usagef("--limit shows the oldest events, and --last the newest; pass one of them")
	case v.follow && (v.before > 0 || v.until != ""):
		return terminal.Usagef("--follow cannot be combined with --before and --until")
	}
	for _, pattern := range v.types {
		if _, err := path.Match(pattern, ""); err != nil {
			return terminal.Usagef("--type %q is not a valid pattern; use a type, a feature, or * for any text but a slash", pattern)
		}
	}
	if v.earliest, err = parseTime("--since", v.since, now); err != nil {
		return err
	}
	v.latest, err = parseTime("--until", v.until, now)
	return err
}

// parseTime parses the value of a flag: a time, or a duration before now. It returns zero for "".
func parseTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, terminal.Usagef("%s %q is not a time; use 2026-05-12, '2026-05-12 09:30:00', 2026-05-12T09:30:00Z, or a duration before now, such as 2h", flag, text)
}

// print writes the events to out. If no event matches, it writes a message to errOut.
func (v logView) print(ctx context.Context, store eventlog.Store, out, errOut io.Writer) error {
	lines := bufio.NewWriter(out)
	write := v.writer(lines, terminal.IsTerminal(out))
	after, count := v.after, int64(0)
	var newest []shownEvent // of --last, until they are written
	if v.newest > 0 && v.filter() == "" {
		last, err := store.Last(ctx)
		if err != nil {
			return v.ended(ctx, err)
		}
		if v.before > 0 {
			last = min(last, v.before-1)
		}
		after = max(after, last-v.newest)
	}
	writeNew := func() error {
		amendments, err := app.NewAdmin(store, app.Options{}).Amendments(ctx)
		if err != nil {
			return v.ended(ctx, err)
		}
		defer amendments.Close()
		for record, err := range store.Records(ctx, after) {
			if err != nil {
				return v.ended(ctx, err)
			}
			if v.before > 0 && record.Seq >= v.before {
				break
			}
			after = record.Seq
			if !v.includes(record) {
				continue
			}
			am, err := amendments.Of(record.Seq)
			if err != nil {
				return v.ended(ctx, err)
			}
			count++
			if v.newest > 0 {
				newest = append(newest, shownEvent{record, am})
				newest = newest[max(0, int64(len(newest))-v.newest):]
				continue
			}
			if err := write(shownEvent{record, am}); err != nil {
				return err
			}
			if count == v.limit {
				return nil
			}
		}
		for _, e := range newest {
			if err := write(e); err != nil {
				return err
			}
		}
		newest, v.newest = nil, 0 // from now on, all that are appended
		return nil
	}
	for {
		stamp, err := store.Stamp(ctx)
		if err != nil {
			return v.ended(ctx, err)
		}
		if err := writeNew(); err != nil {
			return err
		}
		if filter := v.filter(); count == 0 && filter != "" && v.after == 0 && !v.follow {
			fmt.Fprintf(errOut, "no events%s\n", filter)
		}
		if err := lines.Flush(); err != nil || !v.follow || count > 0 && count == v.limit {
			return err
		}
		if err := waitForChange(ctx, store, stamp); err != nil {
			return v.ended(ctx, err)
		}
	}
}

// ended returns nil if --follow was interrupted, and err otherwise.
func (v logView) ended(ctx context.Context, err error) error {
	if v.follow && ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("read the log: %w", err)
}

// waitForChange waits until the store has changed since stamp.
func waitForChange(ctx context.Context, store eventlog.Store, stamp int64) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		if now, err := store.Stamp(ctx); err != nil || now != stamp {
			return err
		}
	}
}

// includes reports whether the view shows a record. It does not look at the numbers.
func (v logView) includes(r eventlog.Record) bool {
	feature, _, _ := strings.Cut(r.Type, "/")
	isType := func(pattern string) bool {
		ok, _ := path.Match(pattern, r.Type) // check has parsed it
		return ok || pattern == feature
	}
	return (v.types == nil || slices.ContainsFunc(v.types, isType)) && (v.actor == "" || v.actor == r.Actor) &&
		!r.Time.Before(v.earliest) && (v.latest.IsZero() || r.Time.Before(v.latest)) &&
		(v.text == "" || strings.Contains(strings.ToLower(string(r.Data)), strings.ToLower(v.text))) && (v.cause == "" || v.causes(r.Cause))
}

// causes reports whether --cause names a cause.
func (v logView) causes(raw json.RawMessage) bool {
	var cause eventlog.Cause
	return raw != nil && json.Unmarshal(raw, &cause) == nil && slices.Contains([]string{cause.Worker, cause.Tool, strconv.FormatInt(cause.Event, 10)}, v.cause)
}

// filter describes the events that the view shows; empty for all events.
func (v logView) filter() (text string) {
	if v.types != nil {
		text += " of type " + shorten(strings.Join(v.types, ", "), 60)
	}
	for _, part := range [][2]string{{" of actor ", v.actor}, {" caused by ", v.cause}, {" with the text ", v.text}, {" since ", v.since}, {" until ", v.until}} {
		if part[1] != "" {
			text += part[0] + shorten(part[1], 60)
		}
	}
	return text
}

// writer returns a function that writes events to out.
func (v logView) writer(out io.Writer, isTerminal bool) func(shownEvent) error {
	if v.json {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		return func(e shownEvent) error { return encoder.Encode(e) }
	}
	return func(e shownEvent) error {
		text := e.text()
		if isTerminal {
			text = shorten(text, 80)
		}
		_, err := fmt.Fprintf(out, "%8d  %s  %-16s  %-24s  %s%s\n", e.Seq, e.Time.Format("2006-01-02 15:04:05"),
			shorten(cmp.Or(e.Actor, "-"), 60), shorten(e.Type, 60), text, e.causeNote()+e.note())
		return err
	}
}

// A shownEvent is an event and its amendment.
type shownEvent struct {
	eventlog.Record
	Amendment *app.Amendment `json:"amendment,omitempty"`
}

// text returns the data of an event, or the description of an amendment.
func (e shownEvent) text() string {
	var set app.Amended
	if e.Type != amendedType || json.Unmarshal(e.Data, &set) != nil {
		return string(e.Data)
	}
	return withReason(describeEvents(set)+" "+describe(set.Amendment, set.Fallback), set.Amendment)
}

// note returns the amendment of an event as text, for the end of its line.
func (e shownEvent) note() string {
	if e.Amendment == nil {
		return ""
	}
	how := describe(*e.Amendment, false)
	if restores(*e.Amendment, e.Record) {
		how = "restored"
	}
	return "  (" + withReason(how, *e.Amendment) + ")"
}

// causeNote returns the event that a worker handled as text, for the end of a line.
func (e shownEvent) causeNote() string {
	var cause eventlog.Cause
	if e.Cause == nil || json.Unmarshal(e.Cause, &cause) != nil || cause.Event == 0 {
		return ""
	}
	return fmt.Sprintf("  (by event %d)", cause.Event)
}

// describeEvents names the events of a set, with a verb.
func describeEvents(set app.Amended) string {
	if set.Events() == 1 {
		return fmt.Sprintf("event %d is", set.Seq)
	}
	return fmt.Sprintf("%d events from %d to %d are", set.Events(), set.Seq, set.Last)
}

// describe returns how an amended event is read, by all builds, or only by those that cannot read
// the event otherwise.
func describe(am app.Amendment, isFallback bool) string {
	switch {
	case am.Erased && am.By != "":
		return "erased by " + shorten(am.By, 60)
	case am.Erased:
		return "erased"
	case am.Skip:
		return "skipped"
	case isFallback:
		return fmt.Sprintf("read as %s, version %d, by older builds", shorten(am.Type, 60), am.Version)
	case am.Type == "":
		return "changed"
	}
	return "read as " + shorten(am.Type, 60)
}

// withReason adds the reason of an amendment, if it has one, to its description.
func withReason(text string, am app.Amendment) string {
	if am.Reason == "" {
		return text
	}
	return text + ": " + shorten(am.Reason, 300)
}

// amendedType is the type of events that amend others.
const amendedType = "app/amended"

func (d *Data) newShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show SEQ",
		Short:   "Show an event",
		Long:    "Show an event as JSON, with its amendment by log skip, log map or log restore.",
		Example: d.examples("log show 17"),
		Args:    mcpcli.ExactArgs("17"),
		RunE: func(cmd *cobra.Command, args []string) error {
			seq, err := parseSeq(args[0])
			if err != nil {
				return err
			}
			return d.withStore(cmd.Context(), func(store eventlog.Store) error {
				admin := d.admin(store)
				record, err := admin.Find(cmd.Context(), seq)
				if err != nil {
					return err
				}
				am, err := admin.FindAmendment(cmd.Context(), seq)
				if err != nil {
					return err
				}
				return terminal.PrintJSON(cmd.OutOrStdout(), shownEvent{record, am})
			})
		},
	}
}

// restores reports whether an amendment reads a record as it was recorded.
func restores(am app.Amendment, r eventlog.Record) bool {
	return !am.Skip && am.Type == r.Type && am.Version == r.Version && sameJSON(am.Data, r.Data)
}

// sameJSON reports whether two texts are equal as JSON values.
func sameJSON(one, other []byte) bool {
	var values [2]any
	for i, text := range [][]byte{one, other} {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if decoder.Decode(&values[i]) != nil {
			return bytes.Equal(one, other)
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}
