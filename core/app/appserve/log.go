package appserve

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/terminal"
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
it. The output is text, also in a file or a pipe, unless --json is given.

Servers can keep running. If an event cannot be applied, amend it with log skip, log map or log
restore. To remove the content of an event for good, use log erase.`,
		Example: d.examples("log --after 100 --limit 20", "log --follow --type posts/create", "log --actor local:ada", "log --json | jq .type", "log show 17", "log types"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if v.after < 0 || v.limit < 0 {
				return terminal.Usagef("--after and --limit must not be negative")
			}
			ctx, stop := untilInterrupted(cmd)
			defer stop()
			return d.withStore(ctx, func(store app.Store) error { return v.print(ctx, store, cmd.OutOrStdout(), cmd.ErrOrStderr()) })
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&v.follow, "follow", "f", false, "show new events as they are appended, until interrupted")
	flags.BoolVar(&v.json, "json", false, "print each complete event as a line of JSON")
	flags.Int64Var(&v.after, "after", 0, "start after the event with this number")
	flags.Int64Var(&v.limit, "limit", 0, "maximum number of events (default all)")
	flags.StringVar(&v.kind, "type", "", "show events of this type, such as posts/create, or of this feature, such as posts")
	flags.StringVar(&v.actor, "actor", "", "show events of this actor, such as local:ada")
	cmd.AddCommand(d.newShow(), d.newSkip(), d.newMap(), d.newRestore(), d.newErase(), d.newCopy(), d.newTypes(), d.newSample())
	return cmd
}

// print writes the events to out. If no event matches, it says so on errOut.
func (v logView) print(ctx context.Context, store app.Store, out, errOut io.Writer) error {
	lines := bufio.NewWriter(out)
	write := v.writer(lines, terminal.IsTerminal(out))
	after, count := v.after, int64(0)
	for {
		stamp, err := store.Stamp(ctx)
		if err != nil {
			return v.ended(ctx, err)
		}
		amendments, err := app.Amendments(ctx, store)
		if err != nil {
			return v.ended(ctx, err)
		}
		for record, err := range store.Records(ctx, after) {
			if err != nil {
				return v.ended(ctx, err)
			}
			after = record.Seq
			if !v.includes(record) {
				continue
			}
			if err := write(withAmendment(record, amendments)); err != nil {
				return err
			}
			if count++; count == v.limit {
				return lines.Flush()
			}
		}
		if filter := v.filter(); count == 0 && filter != "" && v.after == 0 && !v.follow {
			fmt.Fprintf(errOut, "no events%s\n", filter)
		}
		if err := lines.Flush(); err != nil || !v.follow {
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
func waitForChange(ctx context.Context, store app.Store, stamp int64) error {
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
func (v logView) includes(r app.Record) bool {
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
			shorten(cmp.Or(e.Actor, "-"), 60), shorten(e.Type, 60), text, e.note())
		return err
	}
}

// A shownEvent is an event and its amendment.
type shownEvent struct {
	app.Record
	Amendment *app.Amendment `json:"amendment,omitempty"`
}

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
			return d.withStore(cmd.Context(), func(store app.Store) error {
				record, err := app.Find(cmd.Context(), store, seq)
				if err != nil {
					return err
				}
				amendments, err := app.Amendments(cmd.Context(), store)
				if err != nil {
					return err
				}
				return terminal.PrintJSON(cmd.OutOrStdout(), withAmendment(record, amendments))
			})
		},
	}
}

func (d *Data) examples(lines ...string) string {
	return "  " + d.program + " " + strings.Join(lines, "\n  "+d.program+" ")
}

// shorten returns at most limit characters of a text, without control characters.
func shorten(text string, limit int) string {
	runes := []rune(text)
	if len(runes) > limit {
		runes = append(runes[:limit-1], '…')
	}
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = '\uFFFD'
		}
	}
	return string(runes)
}

func parseSeq(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, terminal.Usagef("%q is not the number of an event, such as 17; run log for the numbers", text)
	}
	return n, nil
}

func (d *Data) newSkip() *cobra.Command {
	var am app.Amendment
	var force bool
	cmd := &cobra.Command{
		Use:   "skip SEQ --reason WHY",
		Short: "Skip an event that cannot be applied",
		Long: `Skip an event that cannot be applied. The event stays in the log, and the reason is recorded.
Running servers pick up the change.

The change is tried first. If it breaks another event, nothing is recorded.`,
		Example: d.examples("log skip 17 --reason 'wrong import'"),
		Args:    mcpcli.ExactArgs("17"),
		RunE: func(cmd *cobra.Command, args []string) error {
			am.Skip = true
			return d.amend(cmd, args[0], am, force, "is skipped")
		},
	}
	amendFlags(cmd, &am, &force)
	return cmd
}

// amendFlags adds the flags of all amending commands.
func amendFlags(cmd *cobra.Command, am *app.Amendment, force *bool) {
	cmd.Flags().StringVar(&am.Reason, "reason", "", "reason to record in the log (required)")
	cmd.Flags().BoolVar(force, "force", false, "record the change without trying it first")
}

func (d *Data) newMap() *cobra.Command {
	var am app.Amendment
	var input string
	var force bool
	cmd := &cobra.Command{
		Use:   "map SEQ --type TYPE --reason WHY",
		Short: "Read an event as another command",
		Long: `Read an event as another command, for example after a command was renamed. The event stays in
the log unchanged, and the reason is recorded. Running servers pick up the change.

The change is tried first. If the event still cannot be applied, or the change breaks a later event,
nothing is recorded.

If the fields of the command have changed, run petrock generate version instead: it covers all events of
the old version. If the command was removed or renamed, see petrock help evolving.`,
		Example: d.examples(
			"log map 17 --type posts/publish --reason 'renamed'",
			`log map 17 --type posts/create --version 2 --input '{"title":"Hello"}' --reason 'had no title'`,
			"log map 17 --type posts/create --input @corrected.json --reason 'had no title'"),
		Args: mcpcli.ExactArgs("17"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if am.Type == "" || am.Version < 0 {
				return terminal.Usagef("log map requires --type TYPE, such as posts/create; versions start at 1")
			}
			text, err := readInput(input)
			if err != nil {
				return err
			}
			am.Data = text
			return d.amend(cmd, args[0], am, force, "is read as "+am.Type)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&am.Type, "type", "", "type of the other command, such as posts/publish (required)")
	flags.IntVar(&am.Version, "version", 0, "version of the other command (default the event's)")
	flags.StringVar(&input, "input", "", "input of the other command as JSON, or @FILE (default the event's)")
	amendFlags(cmd, &am, &force)
	return cmd
}

// readInput returns the JSON of --input, or of its file if it starts with @.
func readInput(text string) (json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	if file, ok := strings.CutPrefix(text, "@"); ok {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the input: %w", err)
		}
		text = string(raw)
	}
	if !json.Valid([]byte(text)) {
		return nil, terminal.Usagef("--input is not valid JSON: %s", shorten(text, 80))
	}
	return json.RawMessage(text), nil
}

// amend records an amendment. Without force it refuses one that breaks an event. effect describes the
// amendment in the output.
func (d *Data) amend(cmd *cobra.Command, arg string, am app.Amendment, force bool, effect string) error {
	var err error
	if am.Seq, err = parseSeq(arg); err != nil {
		return err
	}
	if am.Reason == "" {
		return terminal.Usagef("log %s requires --reason WHY", cmd.Name())
	}
	am.Time = time.Now().UTC()
	ctx := app.WithActor(cmd.Context(), appmcp.Actor(cmd.Context()))
	return d.withStore(ctx, func(store app.Store) error {
		record, err := app.Find(ctx, store, am.Seq)
		if err != nil {
			return err
		}
		if am, err = complete(ctx, store, record, am); err != nil {
			return err
		}
		if !force {
			if err := app.CheckAmendment(ctx, store, am, d.with(app.Options{}), d.appFeatures()...); err != nil {
				return fmt.Errorf("%w\nnothing was recorded; to record the change anyway, add --force", err)
			}
		}
		if err := app.Amend(ctx, store, am); err != nil {
			return fmt.Errorf("amend event %d: %w", am.Seq, err)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "Event %d, %s, %s from now on.\n\nNext:\n  %s replay\n", am.Seq, record.Type, effect, d.program)
		return err
	})
}

func (d *Data) newRestore() *cobra.Command {
	var am app.Amendment
	var force bool
	cmd := &cobra.Command{
		Use:   "restore SEQ --reason WHY",
		Short: "Undo log skip or log map for an event",
		Long: `Undo log skip or log map: read the event as it was recorded. The reason is recorded too. Running
servers pick up the change.

The change is tried first. If the event cannot be applied as it was recorded, or the change breaks a
later event, nothing is recorded.`,
		Example: d.examples("log restore 17 --reason 'skipped by mistake'"),
		Args:    mcpcli.ExactArgs("17"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.amend(cmd, args[0], am, force, "is read as it was recorded")
		},
	}
	amendFlags(cmd, &am, &force)
	return cmd
}

// complete sets the empty fields of an amendment from the record. Without Skip and Type it restores.
func complete(ctx context.Context, store app.Store, record app.Record, am app.Amendment) (app.Amendment, error) {
	if am.Skip {
		return am, nil
	}
	if am.Type == "" {
		all, err := app.Amendments(ctx, store)
		if err != nil {
			return am, err
		}
		if before, ok := all[am.Seq]; !ok || restores(before, record) {
			return am, fmt.Errorf("event %d has no amendment to undo", am.Seq)
		}
		am.Type = record.Type
	}
	if am.Version == 0 {
		am.Version = record.Version
	}
	if am.Data == nil {
		am.Data = record.Data
	}
	return am, nil
}

// restores reports whether an amendment reads a record as it was recorded.
func restores(am app.Amendment, r app.Record) bool {
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
