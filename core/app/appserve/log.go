package appserve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/sqlite"
	"github.com/petrock/petrock/core/terminal"
)

// pollEvery is the polling interval of --follow.
const pollEvery = 200 * time.Millisecond

// A logView says which entries to show, and how.
type logView struct {
	follow, json bool
	after, limit int64
	kind         string
}

func (d *Data) newLog() *cobra.Command {
	var v logView
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show the event log",
		Long: `Show the event log, oldest first: number, time, type and data of each entry, and how it was amended. On a
terminal the data is shortened; log show prints all of it.

It works while servers run, and when an entry cannot be applied: log skip, log map and log restore amend such an entry.`,
		Example: d.examples("log --after 100 --limit 20", "log --follow --type posts/create", "log --json | jq .type", "log show 17"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if v.after < 0 || v.limit < 0 {
				return terminal.Usagef("--after and --limit are numbers from 0 on")
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return d.with(ctx, func(store *sqlite.Store) error { return v.print(ctx, store, cmd.OutOrStdout()) })
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&v.follow, "follow", "f", false, "show new entries as they are appended, until interrupted")
	flags.BoolVar(&v.json, "json", false, "print each complete entry as a line of JSON")
	flags.Int64Var(&v.after, "after", 0, "start after the entry of this number")
	flags.Int64Var(&v.limit, "limit", 0, "show at most this many (default all)")
	flags.StringVar(&v.kind, "type", "", "show entries of this type, such as posts/create, or of this feature, such as posts")
	cmd.AddCommand(d.newShow(), d.newSkip(), d.newMap(), d.newRestore())
	return cmd
}

// print writes the entries to out.
func (v logView) print(ctx context.Context, store app.Store, out io.Writer) error {
	lines := bufio.NewWriter(out)
	write := v.writer(lines, terminal.Watched(out))
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
			if !v.wants(record) {
				continue
			}
			if err := write(shown(record, amendments)); err != nil {
				return err
			}
			if count++; count == v.limit {
				return lines.Flush()
			}
		}
		if err := lines.Flush(); err != nil || !v.follow {
			return err
		}
		if err := changed(ctx, store, stamp); err != nil {
			return v.ended(ctx, err)
		}
	}
}

// ended returns nil for an interrupt of --follow, and err otherwise.
func (v logView) ended(ctx context.Context, err error) error {
	if v.follow && ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("reading the log: %w", err)
}

// changed waits until the store has changed since stamp.
func changed(ctx context.Context, store app.Store, stamp int64) error {
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

// wants reports whether the view shows a record.
func (v logView) wants(r app.Record) bool {
	feature, _, _ := strings.Cut(r.Type, "/")
	return v.kind == "" || v.kind == r.Type || v.kind == feature
}

// writer returns a function that writes entries to out.
func (v logView) writer(out io.Writer, watched bool) func(shownEntry) error {
	if v.json {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		return func(e shownEntry) error { return encoder.Encode(e) }
	}
	return func(e shownEntry) error {
		text := e.text()
		if watched {
			text = short(text, 80)
		}
		_, err := fmt.Fprintf(out, "%8d  %s  %-24s  %s%s\n", e.Seq, e.Time.Format("2006-01-02 15:04:05"), short(e.Type, 60), text, e.mark())
		return err
	}
}
