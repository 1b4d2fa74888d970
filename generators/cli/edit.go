package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/trial"
)

func newEdit(env Env) *cobra.Command {
	var c projectFlags
	var edit fileEdit
	cmd := &cobra.Command{
		Use:   "edit [FILE]",
		Short: "Edit project files as one verified operation",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := edit.read(cmd, joinDir(env.Dir, c.dir), args, c.draft != "")
			if err != nil {
				return err
			}
			if edit.Text != nil && !utf8.ValidString(*edit.Text) { // JSON cannot hold it
				return runOperation(cmd, env, &c, func(e *engine.Engine, ctx context.Context) (*engine.Result, error) {
					return e.Edit(ctx, []engine.FileEdit{edit.FileEdit}, c.Options)
				})
			}
			return runDrafted(cmd, env, &c, "edit", given, func(e *engine.Engine, ctx context.Context, in devserver.EditInput) (*engine.Result, error) {
				c.Test, c.DryRun, c.NoData, c.Accept = c.Test || in.Test, c.DryRun || in.DryRun, c.NoData || in.NoData, append(c.Accept, in.Accept...)
				return e.Edit(ctx, in.Edits, c.Options)
			})
		},
	}
	c.addDraftFlag(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&c.Test, "test", false, "run the tests of changed packages and their importers first; refuse new failures")
	flags.StringArrayVar(&c.Accept, "accept", nil, "accept changed fields of a `COMMAND` such as posts/create, although stored events become unreadable; may be repeated")
	flags.StringArrayVar(&edit.old, "replace", nil, "replace `TEXT`, which must occur once; needs --with; may be repeated")
	flags.StringArrayVar(&edit.new, "with", nil, "the new `TEXT` for the --replace at the same position")
	flags.BoolVar(&edit.all, "all", false, "replace every occurrence")
	flags.BoolVar(&edit.regexp, "regexp", false, "the texts to replace are regular expressions, and the new ones may contain ${1}")
	flags.StringVar(&edit.Symbol, "symbol", "", "instead of FILE, rename a Go `SYMBOL` such as desk.Loan.Due with all references")
	flags.StringVar(&edit.from, "from", "", "write the text of another `FILE`, or - for standard input")
	flags.StringVar(&edit.Rename, "rename", "", "the new `PATH` of the file or name of the symbol; PACKAGE.NAME moves a symbol to another package")
	flags.BoolVar(&edit.Delete, "delete", false, "delete the file")
	flags.StringVar(&edit.input, "input", "", "read the edits from a JSON `FILE`, or - for standard input")
	return c.addFlags(cmd, true)
}

// A fileEdit is the edit of a command line.
type fileEdit struct {
	engine.FileEdit
	old, new []string // texts to replace, and their new texts
	all      bool     // whether every occurrence is replaced
	regexp   bool     // whether the texts to replace are regular expressions
	from     string   // file with the new text
	input    string   // file with edits
}

// read returns the input of the tool edit of a command line, as JSON. Paths on the command line are
// relative to dir. With a draft, it may lack members, or have null.
func (f *fileEdit) read(cmd *cobra.Command, dir string, args []string, hasDraft bool) (json.RawMessage, error) {
	switch {
	case len(args) == 0 && f.Symbol != "" && f.input == "":
		return strictjson.Marshal(devserver.EditInput{Edits: []engine.FileEdit{f.FileEdit}})
	case len(args) == 0:
		return f.readInput(cmd, hasDraft)
	case f.input != "":
		return nil, terminal.Usagef("FILE and --input cannot be combined; pass one of them")
	case len(f.old) != len(f.new):
		return nil, terminal.Usagef("--replace and --with belong together; pass both equally often")
	case len(f.old) == 0 && f.from == "" && f.Rename == "" && !f.Delete:
		return nil, terminal.Usagef("edit FILE needs --replace, --from, --rename or --delete")
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // as the project's root is
	}
	f.Path = joinDir(dir, args[0])
	if f.Rename != "" {
		f.Rename = joinDir(dir, f.Rename)
	}
	for i, old := range f.old {
		f.Replace = append(f.Replace, engine.Replacement{Old: old, New: f.new[i], All: f.all, Regexp: f.regexp})
	}
	if f.from != "" {
		text, err := readFile(cmd, "from", f.from)
		if err != nil {
			return nil, err
		}
		f.Text = new(string(text))
	}
	return strictjson.Marshal(devserver.EditInput{Edits: []engine.FileEdit{f.FileEdit}})
}

// readInput reads the input of the tool edit from a file or standard input. With a draft, it may be
// missing.
func (f *fileEdit) readInput(cmd *cobra.Command, hasDraft bool) (json.RawMessage, error) {
	switch {
	case len(f.old) > 0 || f.from != "" || f.Rename != "" || f.Delete || f.input == "" && !hasDraft && terminal.IsTerminal(os.Stdin):
		return nil, terminal.Usagef("edit needs FILE, such as tools/add.go, or only --input")
	case f.input == "" && hasDraft:
		return json.RawMessage("{}"), nil
	}
	text, err := readFile(cmd, "input", cmp.Or(f.input, "-"))
	if err != nil {
		return nil, err
	}
	source := "--input " + f.input
	if f.input == "" {
		source = "standard input"
	}
	var members map[string]json.RawMessage
	if err := strictjson.Unmarshal(text, &members); err != nil {
		return nil, terminal.Usagef("%s: %w; pass FILE, such as tools/add.go, or edits as a JSON object", source, err)
	}
	if members["dir"] != nil {
		return nil, terminal.Usagef("%s: dir is for MCP clients; pass --dir", source)
	}
	return text, nil
}

func newTest(env Env) *cobra.Command {
	var c projectFlags
	var o engine.TestOptions
	cmd := &cobra.Command{
		Use:   "test [PACKAGE|FILE|COMPONENT…]",
		Short: "Run the project's tests",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.NoExec {
				return terminal.Usagef("test runs code of the project; run it without --no-exec")
			}
			o.Packages = args
			result, err := run(cmd.Context(), env, &c, func(e *engine.Engine, ctx context.Context) (*engine.TestResult, error) {
				return e.Test(ctx, o)
			}, printReport)
			return reported(err, err == nil && !result.OK, "tests failed")
		},
	}
	cmd.Flags().StringVar(&o.Run, "run", "", "run only tests whose names match this `PATTERN`")
	cmd.Flags().BoolVar(&o.Coverage, "coverage", false, "print how many statements ran; of PACKAGEs, files or components also the lines that did not")
	cmd.Flags().StringVar(&o.Bench, "bench", "", "run the benchmarks whose names match this `PATTERN`, and compare them with their last run; without --run, no tests")
	cmd.Flags().BoolVar(&o.Race, "race", false, "detect data races; needs cgo")
	cmd.Flags().IntVar(&o.Count, "count", 0, "run each test and benchmark `N` times; of benchmarks, print the medians (default 1)")
	cmd.Flags().DurationVar(&o.Timeout, "timeout", 0, fmt.Sprintf("time limit for the tests of each package, for each of --count (default %v, 6 times as long with --race, 30 times with --bench)", trial.DefaultTime))
	return c.addFlags(cmd, false)
}

func newChange(env Env) *cobra.Command {
	var c projectFlags
	var in engine.Change
	var examplesOf []string
	var input string
	exampleSchema := json.RawMessage(`{"properties":{"example":{"type":"array","items":{"type":"object"}}}}`)
	cmd := &cobra.Command{
		Use:   "change [KIND NAME]",
		Short: "Rename or edit a component in place",
		Args: func(cmd *cobra.Command, args []string) error {
			if input != "" && len(args) == 0 {
				return nil
			}
			if err := mcpcli.ExactArgs("tool", "add")(cmd, args); err != nil || slices.Contains(engine.Kinds(), args[0]) {
				return err
			}
			return fmt.Errorf("unknown kind %q; %s", args[0], terminal.DidYouMean(args[0], engine.Kinds(), "the kinds are "+strings.Join(engine.Kinds(), ", ")))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			change := func(e *engine.Engine, ctx context.Context, in engine.Change) (*engine.Result, error) {
				return e.Change(ctx, in, c.Options)
			}
			if len(args) == 0 {
				given, err := readFile(cmd, "input", input)
				if err != nil {
					return err
				}
				return runDrafted(cmd, env, &c, "change", given, change)
			}
			in.Kind, in.Name = args[0], args[1]
			for flag, text := range map[string]*string{"body": &in.Body, "check": &in.Check, "upgrade": &in.Upgrade, "downgrade": &in.Downgrade} {
				var err error
				if *text, err = readText(cmd, flag, *text); err != nil {
					return err
				}
			}
			if len(examplesOf) > 0 {
				list, err := readValue(cmd, mcpcli.ReadProperties(exampleSchema)[0], examplesOf)
				if err != nil {
					return err
				}
				if err := (&strictjson.Decoder{Exact: true}).Decode(list, &in.Examples); err != nil {
					return terminal.Usagef("--example: %w", err)
				}
			}
			given, err := strictjson.Marshal(in)
			if err != nil {
				return err
			}
			return runDrafted(cmd, env, &c, "change", given, change)
		},
		ValidArgsFunction: completeComponent(env, &c),
	}
	flags := cmd.Flags()
	c.addDraftFlag(cmd)
	flags.StringVar(&input, "input", "", "instead of KIND, NAME and flags, read the change from a JSON `FILE`, or - for standard input")
	flags.StringVar(&in.Rename, "rename", "", "new `NAME`")
	flags.BoolVar(&in.Alias, "alias", false, "with --rename: keep the old name of a tool as a deprecated alias")
	flags.StringVar(&in.Description, "description", "", "new description")
	flags.StringArrayVar(&in.Fields, "field", nil, "input `FIELD` to add or replace; NAME \"DESCRIPTION\" keeps the type; may be repeated")
	flags.StringArrayVar(&in.RenameFields, "rename-field", nil, "`OLD=NEW` name of an input field, or output.OLD=NEW; may be repeated")
	flags.StringArrayVar(&in.RemoveFields, "remove-field", nil, "`NAME` of an input field to remove, or output.NAME; may be repeated")
	flags.StringArrayVar(&in.Output, "output", nil, "output `FIELD` to add or replace; may be repeated")
	flags.StringArrayVar(&in.Default, "default", nil, "`FIELD=VALUE` of a new required field in stored events; may be repeated")
	flags.StringVar(&in.Upgrade, "upgrade", "", "`GO` statements that convert stored events, old, to the new command")
	flags.BoolVar(&in.ReadFirst, "read-first", false, "make a new version that this build reads, and keep the old one as input and in new events, which older builds can read")
	flags.StringVar(&in.Downgrade, "downgrade", "", "with --read-first: `GO` statements that convert the command, c, to the old version")
	flags.StringVar(&in.Check, "check", "", "new body of Check of a command, as `GO` statements")
	flags.StringVar(&in.Body, "body", "", "new body of the function, as `GO` statements, or @FILE")
	flags.StringArrayVar(&in.Values, "value", nil, "all `VALUES` of an enum type, such as eur,usd; may be repeated")
	flags.Func("title", "new `TITLE` for users; empty to remove it", func(text string) error { in.Title = &text; return nil })
	flags.Func("hint", "`HINTS` for clients, such as read-only; they replace the old ones", func(text string) error { in.Hints = &text; return nil })
	flags.Func("scope", "OAuth `SCOPES` that callers need; they replace the old ones", func(text string) error { in.Scopes = &text; return nil })
	flags.BoolFunc("internal", "make a command or query callable only from Go; --internal=false makes it a tool", func(text string) (err error) {
		internal, err := strconv.ParseBool(text)
		in.Internal = &internal
		return err
	})
	flags.StringArrayVar(&examplesOf, "example", nil, "JSON `object`, which may be repeated, or list, or @FILE: example for the test; replaces one with its name")
	flags.BoolVar(&c.noNet, "no-net", false, noNetUsage)
	return c.addFlags(cmd, true)
}
