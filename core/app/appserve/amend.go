package appserve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// An amending is a run of log skip, log map or log restore.
type amending struct {
	selection
	reason                string
	force, dryRun, asJSON bool

	effect    string   // of the change on the events, as it follows "is" or "are"
	unchanged string   // why an event is left out, after "event 17"
	changes   []string // of fields, without values, for the log
	amend     func(r eventlog.Record, before *app.Amendment) (app.Amendment, bool, error)
}

// flags adds the flags of all amending commands.
func (m *amending) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.reason, "reason", "", "reason to record in the log (required)")
	cmd.Flags().BoolVar(&m.force, "force", false, "record the change without trying it first")
	cmd.Flags().BoolVar(&m.dryRun, "dry-run", false, "try the change, and record nothing")
	cmd.Flags().BoolVar(&m.asJSON, "json", false, "print JSON")
}

const amendHelp = `
The events stay in the log unchanged, and the reason is recorded. Running servers pick up the change.

The change is tried first, for all events together. If it breaks an event, nothing is recorded. With
several events, the output shows the first one before and after the change.

` + eventsHelp

func (d *Data) newSkip() *cobra.Command {
	m := &amending{effect: "skipped", unchanged: "is skipped already"}
	m.amend = func(_ eventlog.Record, before *app.Amendment) (app.Amendment, bool, error) {
		return app.Amendment{Skip: true}, before == nil || !before.Skip, nil
	}
	cmd := &cobra.Command{
		Use:     "skip EVENTS --reason WHY",
		Args:    cobra.ArbitraryArgs,
		Short:   "Skip events that cannot be applied",
		Long:    "Skip events that cannot be applied.\n" + amendHelp + ". Without EVENTS, --type selects from all of the log.",
		Example: d.examples("log skip 17 --reason 'wrong import'", "log skip 20-30 41 --reason 'wrong import'", "log skip 100- --type posts/import --reason 'wrong import' --dry-run"),
		RunE:    func(cmd *cobra.Command, args []string) error { return d.runAmending(cmd, m, args) },
	}
	m.selection.flags(cmd, "type", "version")
	m.flags(cmd)
	return cmd
}

func (d *Data) newMap() *cobra.Command {
	m := &amending{unchanged: "is read like this already"}
	var to app.Amendment
	var input string
	var edits fieldEdits
	cmd := &cobra.Command{
		Use:   "map EVENTS [--type TYPE] [--set FIELD=JSON] --reason WHY",
		Args:  cobra.ArbitraryArgs,
		Short: "Read events as another command, or with other fields",
		Long: `Read events as another command, for example after a command was renamed, or with other fields.
--set, --unset and --rename change fields of the data as it is read now; a.b is field b in field a. An
event without the field is not changed by --unset and --rename. --input replaces all fields.
` + amendHelp + `.
--of selects events by the type that they have; --type is the type to read them as.

If the fields of the command have changed, run petrock generate version instead: it covers all events of
the old version. If the command was removed or renamed, see petrock help evolving.`,
		Example: d.examples(
			"log map 17 --type posts/publish --reason 'renamed'",
			`log map 17 --type posts/create --version 2 --input '{"title":"Hello"}' --reason 'had no title'`,
			"log map 17 --type posts/create --input @corrected.json --reason 'had no title'",
			`log map 20-30 --set 'title="Hello"' --unset draft --reason 'had no title'`,
			"log map --of posts/create --of-version 1 --rename name=title --version 2 --reason 'renamed' --dry-run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to.Version < 0 || to.Type == "" && to.Version == 0 && input == "" && edits.isEmpty() {
				return terminal.Usagef("log map requires --type TYPE, such as posts/create, or --version, --input, --set, --unset or --rename; versions start at 1")
			}
			data, err := readInput(input)
			if err != nil {
				return err
			}
			to.Data = data
			if err := edits.parse(); err != nil {
				return err
			}
			m.changes, m.effect = edits.names(), "changed"
			if to.Type != "" {
				m.effect = "read as " + to.Type
			}
			m.amend = func(r eventlog.Record, before *app.Amendment) (app.Amendment, bool, error) {
				return edits.apply(to, r, before)
			}
			return d.runAmending(cmd, m, args)
		},
	}
	flags := cmd.Flags()
	m.selection.flags(cmd, "of", "of-version")
	flags.StringVar(&to.Type, "type", "", "type to read the events as, such as posts/publish (default as they are read now)")
	flags.IntVar(&to.Version, "version", 0, "version to read the events as (default as they are read now)")
	flags.StringVar(&input, "input", "", "input of the command as JSON, or @FILE (default as the events are read now)")
	flags.StringArrayVar(&edits.set, "set", nil, "set a field: FIELD=JSON; can be repeated")
	flags.StringArrayVar(&edits.unset, "unset", nil, "remove a field; can be repeated")
	flags.StringArrayVar(&edits.rename, "rename", nil, "rename a field: OLD=NEW; can be repeated")
	m.flags(cmd)
	return cmd
}

func (d *Data) newRestore() *cobra.Command {
	m := &amending{effect: "read as it was recorded", unchanged: "has no amendment to undo"}
	m.amend = func(r eventlog.Record, before *app.Amendment) (app.Amendment, bool, error) {
		return app.Amendment{Type: r.Type, Version: r.Version, Data: r.Data}, before != nil && !restores(*before, r), nil
	}
	cmd := &cobra.Command{
		Use:     "restore EVENTS --reason WHY",
		Args:    cobra.ArbitraryArgs,
		Short:   "Undo log skip or log map",
		Long:    "Undo log skip or log map: read events as they were recorded.\n" + amendHelp + ". Without EVENTS, --type selects from all of the log.",
		Example: d.examples("log restore 17 --reason 'skipped by mistake'", "log restore 20-30 --type posts/create --reason 'skipped by mistake'"),
		RunE:    func(cmd *cobra.Command, args []string) error { return d.runAmending(cmd, m, args) },
	}
	m.selection.flags(cmd, "type", "version")
	m.flags(cmd)
	return cmd
}

// An amendReport is the result of log skip, log map or log restore.
type amendReport struct {
	Events   int64       `json:"events"`
	First    int64       `json:"first"`
	Last     int64       `json:"last"`
	Before   *shownInput `json:"before"` // how the first event was read; null if it was skipped
	After    *shownInput `json:"after"`
	Recorded bool        `json:"recorded"`

	kind string // type of the first event
}

// A shownInput is how an event is read.
type shownInput struct {
	Type    string          `json:"type"`
	Version int             `json:"version"`
	Data    json.RawMessage `json:"data"`
}

// readNow returns how an event is read; nil if it is skipped.
func readNow(r eventlog.Record, am *app.Amendment) *shownInput {
	switch {
	case am == nil:
		return &shownInput{r.Type, r.Version, r.Data}
	case am.Skip:
		return nil
	}
	return &shownInput{am.Type, am.Version, am.Data}
}

// runAmending tries and records the amendments.
func (d *Data) runAmending(cmd *cobra.Command, m *amending, args []string) error {
	if err := m.parse(args); err != nil {
		return err
	}
	if m.isEmpty() {
		return terminal.Usagef("log %s requires the numbers of events, such as 17 or 20-30, or a type", cmd.Name())
	}
	if m.reason == "" {
		return terminal.Usagef("log %s requires --reason WHY", cmd.Name())
	}
	first, last := m.bounds()
	edit := app.Edit{First: first, Last: last, Reason: m.reason, Fields: m.changes, Time: time.Now().UTC(),
		Amend: func(r eventlog.Record, before *app.Amendment) (app.Amendment, bool, error) {
			if !m.includes(r, before) {
				return app.Amendment{}, false, nil
			}
			return m.amend(r, before)
		}}
	ctx := app.WithActor(cmd.Context(), appmcp.Actor(cmd.Context()))
	return d.withStore(ctx, func(store eventlog.Store) error {
		admin := d.admin(store)
		var report amendReport
		named := map[int64]bool{}
		err := admin.PreviewAmend(ctx, edit, func(r eventlog.Record, before *app.Amendment, am app.Amendment) error {
			if report.Events++; report.Events == 1 {
				report.First, report.Before, report.After, report.kind = r.Seq, readNow(r, before), readNow(r, &am), r.Type
			}
			report.Last = r.Seq
			if slices.Contains(m.numbers, r.Seq) {
				named[r.Seq] = true
			}
			return nil
		})
		if err == nil {
			err = m.missing(ctx, admin, func(seq int64) bool { return named[seq] }, m.unchanged)
		}
		if err == nil && report.Events == 0 {
			err = app.ErrNoEvents
		}
		if err != nil {
			return err
		}
		if !m.force {
			if err := admin.TryAmend(ctx, edit); err != nil {
				return fmt.Errorf("%w\nnothing was recorded; to record the change anyway, add --force", err)
			}
		}
		if !m.dryRun {
			if _, err := admin.Amend(ctx, edit); err != nil {
				return fmt.Errorf("amend %s: %w", count(report.Events), err)
			}
			report.Recorded = true
		}
		if m.asJSON {
			return terminal.PrintJSON(cmd.OutOrStdout(), report)
		}
		return report.print(cmd.OutOrStdout(), m.effect, d.program)
	})
}

func (r amendReport) print(out io.Writer, effect, program string) error {
	text, end := fmt.Sprintf("Event %d, %s, is %s", r.First, r.kind, effect), " from now on"
	if r.Events > 1 {
		text = fmt.Sprintf("%s from %d to %d are %s", count(r.Events), r.First, r.Last, strings.Replace(effect, "as it was", "as they were", 1))
	}
	if !r.Recorded {
		end = " with this change. Nothing was recorded"
	}
	text += end + ".\n"
	if r.Events > 1 || !r.Recorded {
		text += fmt.Sprintf("\nEvent %d before:  %s\n%*safter:   %s\n", r.First, r.Before, len(fmt.Sprint(r.First))+7, "", r.After)
	}
	if r.Recorded {
		text += fmt.Sprintf("\nNext:\n  %s replay\n", program)
	}
	_, err := io.WriteString(out, text)
	return err
}

// String returns the input as a line of text.
func (i *shownInput) String() string {
	if i == nil {
		return "skipped"
	}
	return shorten(fmt.Sprintf("%s, version %d, %s", i.Type, i.Version, i.Data), 300)
}

// fieldEdits changes fields of data.
type fieldEdits struct{ set, unset, rename []string }

func (f *fieldEdits) isEmpty() bool { return len(f.set)+len(f.unset)+len(f.rename) == 0 }

// parse verifies the flags.
func (f *fieldEdits) parse() error {
	for _, edit := range f.set {
		if name, value, ok := strings.Cut(edit, "="); !ok || name == "" || !json.Valid([]byte(value)) {
			return terminal.Usagef(`--set %s is not FIELD=JSON; a text needs quotes, such as --set 'title="Hello"'`, shorten(edit, 80))
		}
	}
	for _, edit := range f.rename {
		if from, to, _ := strings.Cut(edit, "="); from == "" || to == "" || strings.Contains(to, ".") {
			return terminal.Usagef("--rename %s is not OLD=NEW, such as name=title or author.name=title", shorten(edit, 80))
		}
	}
	return nil
}

// names returns the edits without values, for the log.
func (f *fieldEdits) names() (names []string) {
	for _, edit := range f.set {
		name, _, _ := strings.Cut(edit, "=")
		names = append(names, "set "+name)
	}
	for _, name := range f.unset {
		names = append(names, "unset "+name)
	}
	for _, edit := range f.rename {
		names = append(names, "rename "+edit)
	}
	return names
}

// apply returns the amendment of an event with the edits. Empty fields of to are as the event is
// read now. It reports whether that changes anything.
func (f *fieldEdits) apply(to app.Amendment, r eventlog.Record, before *app.Amendment) (am app.Amendment, isChange bool, err error) {
	now := cmp.Or(readNow(r, before), &shownInput{r.Type, r.Version, r.Data})
	am = app.Amendment{Type: cmp.Or(to.Type, now.Type), Version: cmp.Or(to.Version, now.Version), Data: to.Data}
	if am.Data == nil {
		am.Data = now.Data
	}
	for _, edit := range f.rename {
		from, to, _ := strings.Cut(edit, "=")
		am.Data, err = editField(am.Data, from, func(fields map[string]json.RawMessage, name string) {
			if value, ok := fields[name]; ok {
				delete(fields, name)
				fields[to] = value
			}
		}, err)
	}
	for _, name := range f.unset {
		am.Data, err = editField(am.Data, name, func(fields map[string]json.RawMessage, name string) { delete(fields, name) }, err)
	}
	for _, edit := range f.set {
		name, value, _ := strings.Cut(edit, "=")
		am.Data, err = editField(am.Data, name, func(fields map[string]json.RawMessage, name string) { fields[name] = json.RawMessage(value) }, err)
	}
	isChange = before != nil && before.Skip || am.Type != now.Type || am.Version != now.Version || !bytes.Equal(am.Data, now.Data) && !sameJSON(am.Data, now.Data)
	return am, isChange, err
}

// editField calls edit with the fields of an object, and the last name of a path such as a.b. It
// does nothing if err is not nil.
func editField(data json.RawMessage, path string, edit func(fields map[string]json.RawMessage, name string), err error) (json.RawMessage, error) {
	if err != nil {
		return data, err
	}
	name, rest, isNested := strings.Cut(path, ".")
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return data, errors.New("not an object with fields")
	}
	if !isNested {
		edit(fields, name)
		return json.Marshal(fields)
	}
	inner, ok := fields[name]
	if !ok {
		return data, fmt.Errorf("no field %s", name)
	}
	if fields[name], err = editField(inner, rest, edit, nil); err != nil {
		return data, fmt.Errorf("field %s: %w", name, err)
	}
	return json.Marshal(fields)
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
