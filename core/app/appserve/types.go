package appserve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/sqlite"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// storedTypes is the output of log types.
type storedTypes struct {
	Data  string               `json:"data"` // data folder, or URL without its password
	Types []eventlog.TypeCount `json:"types"`
}

func (d *Data) newTypes() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "types",
		Short: "Count the events of each type and version",
		Long: `Count the events of each type and version, and show the numbers of the first and last one. Amended
events count as they are read; skipped and erased ones, and the log's own, are left out.

The command only reads: if the data does not exist, it has no events. Servers can keep running.`,
		Example: d.examples("log types", "log types --json"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			found := storedTypes{Types: []eventlog.TypeCount{}}
			found.Data, err = d.look(cmd.Context(), func(v eventlog.TypeView) (err error) {
				found.Types, err = app.StoredTypes(v)
				return err
			})
			switch {
			case err != nil:
				return err
			case asJSON:
				return terminal.PrintJSON(cmd.OutOrStdout(), found)
			case len(found.Types) == 0:
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "no events in %s\n", found.Data)
				return err
			}
			return printTypes(cmd.OutOrStdout(), found.Types)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printTypes(out io.Writer, types []eventlog.TypeCount) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TYPE\tVERSION\tEVENTS\tFIRST\tLAST")
	for _, t := range types {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\n", shorten(t.Type, 60), t.Version, t.Count, t.First, t.Last)
	}
	return table.Flush()
}

// maxSample is the size in bytes at which log sample ends.
const maxSample = 4 << 20

func (d *Data) newSample() *cobra.Command {
	var version, limit int
	cmd := &cobra.Command{
		Use:   "sample TYPE",
		Short: "Show events of a type from all of the log",
		Long: `Show events of a type and version as lines of JSON: the first, the last, and others from all of the
log. Amended events are shown as they are read now. The output ends after 4 MiB.

The command only reads: if the data does not exist, it has no events. Servers can keep running.`,
		Example: d.examples("log sample posts/create --version 2", "log sample posts/create --limit 10"),
		Args:    mcpcli.ExactArgs("posts/create"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if version < 1 || limit < 1 {
				return terminal.Usagef("--version and --limit must be above 0")
			}
			var lines bytes.Buffer
			_, err := d.look(cmd.Context(), func(v eventlog.TypeView) error {
				lines.Reset()
				write := logView{json: true}.writer(&lines, false)
				for record, err := range app.Sample(v, args[0], version, limit) {
					if err == nil {
						err = write(shownEvent{Record: record})
					}
					if err != nil {
						return err
					}
					if lines.Len() > maxSample {
						break
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			_, err = lines.WriteTo(cmd.OutOrStdout())
			return err
		},
	}
	cmd.Flags().IntVar(&version, "version", 1, "version of the events")
	cmd.Flags().IntVar(&limit, "limit", 1000, "maximum number of events")
	return cmd
}

// look calls f with the data, unless it does not exist. It creates and changes nothing. f may be
// called twice. dir is the folder or the URL, without its password.
func (d *Data) look(ctx context.Context, f func(eventlog.TypeView) error) (dir string, err error) {
	dir, err = d.folder()
	if err != nil {
		return "", err
	}
	if isURL(dir) {
		err = d.readURL(ctx, dir, f)
	} else {
		err = sqlite.ReadOnly(ctx, filepath.Join(dir, fileName), f)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return redacted(dir), err
}

func (d *Data) readURL(ctx context.Context, address string, f func(eventlog.TypeView) error) error {
	store, err := d.openURL(ctx, address, eventlog.OpenExisting)
	if err != nil {
		return err
	}
	return errors.Join(store.View(ctx, func(v eventlog.View) error { return f(v.(eventlog.TypeView)) }), store.Close())
}
