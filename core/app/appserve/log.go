package appserve

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
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
	follow, json bool
	after, limit int64
	kind, actor  string
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

Servers can keep running. If an event cannot be applied, amend it with log skip, log map or log
restore. To remove the content of events for good, use log erase. To let an older build read them, use
log downgrade.`,
		Example: d.examples("log --after 100 --limit 20", "log --follow --type posts/create", "log --actor local:ada", "log --json | jq .type", "log show 17", "log types"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if v.after < 0 || v.limit < 0 {
				return terminal.Usagef("--after and --limit must not be negative")
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
	flags.Int64Var(&v.limit, "limit", 0, "maximum number of events (default all)")
	flags.StringVar(&v.kind, "type", "", "show events of this type, such as posts/create, or of this feature, such as posts")
	flags.StringVar(&v.actor, "actor", "", "show events of this actor, such as local:ada")
	cmd.AddCommand(d.newShow(), d.newSkip(), d.newMap(), d.newRestore(), d.newErase(), d.newDowngrade(), d.newCopy(), d.newTypes(), d.newSample())
	return cmd
}

// print writes the events to out. If no event matches, it writes a message to errOut.
func (v logView) print(ctx context.Context, store eventlog.Store, out, errOut io.Writer) error {
	lines := bufio.NewWriter(out)
	write := v.writer(lines, terminal.IsTerminal(out))
	after, count := v.after, int64(0)
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
			after = record.Seq
			if !v.includes(record) {
				continue
			}
			am, err := amendments.Of(record.Seq)
			if err != nil {
				return v.ended(ctx, err)
			}
			if err := write(shownEvent{record, am}); err != nil {
				return err
			}
			if count++; count == v.limit {
				return nil
			}
		}
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

// includes reports whether the view shows a record.
func (v logView) includes(r eventlog.Record) bool {
	feature, _, _ := strings.Cut(r.Type, "/")
	return (v.kind == "" || v.kind == r.Type || v.kind == feature) && (v.actor == "" || v.actor == r.Actor)
}

// filter describes the events that the view shows; empty for all events.
func (v logView) filter() (text string) {
	if v.kind != "" {
		text += " of type " + shorten(v.kind, 60)
	}
	if v.actor != "" {
		text += " of actor " + shorten(v.actor, 60)
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
