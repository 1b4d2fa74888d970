package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

// noNetUsage is the usage of the flag --no-net.
const noNetUsage = "run examples without network, if the system permits namespaces"

func newGenerate(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "generate KIND NAME …",
		Aliases:     []string{"g"},
		Short:       "Add a component to the project: a tool, a resource, a prompt, a feature, a generator",
		Long:        longHelp("generate") + "\n\n" + longHelp("examples"),
		Annotations: map[string]string{needsOwn: ""}, // this is the command for kinds that this petrock does not have
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownGenerator(cmd, args[0], env)
		},
	}
	cmd.SetFlagErrorFunc(func(failed *cobra.Command, err error) error {
		if failed == cmd && cmd.Flags().NArg() > 0 { // subcommands inherit this function
			return unknownGenerator(cmd, cmd.Flags().Arg(0), env) // this explains the unknown flag
		}
		return explainFlagError(failed, err, env)
	})
	new(projectFlags).addFlags(cmd, true) // for generators that this petrock does not know
	cmd.Flags().Bool("no-net", false, noNetUsage)
	for _, g := range env.generators() {
		cmd.AddCommand(newGenerator(env, g))
	}
	return cmd
}

func unknownGenerator(cmd *cobra.Command, name string, env Env) error {
	why := ""
	if noExec, _ := cmd.Flags().GetBool("no-exec"); noExec {
		why = " (--no-exec leaves out the project's own)"
	}
	known := gen.Names(env.generators())
	return terminal.Usagef("generator %q does not exist; %s%s", name, terminal.DidYouMean(name, known, "the generators are "+strings.Join(known, ", ")), why)
}

// newGenerator returns the command of one generator. Its arguments and flags are the properties of
// the generator's input.
func newGenerator(env Env, g gen.Generator) *cobra.Command {
	var c projectFlags
	form := newForm(g.InputSchema)
	short, _, _ := strings.Cut(g.Description, ":")
	short, _, _ = strings.Cut(short, ". ")
	cmd := &cobra.Command{
		Use:               g.Name + form.usage(),
		Short:             strings.TrimSuffix(short, "."),
		Long:              g.Description + "\n\n" + form.help(),
		Example:           cmp.Or(examples(env, "generate "+g.Name), "  "+env.Program+" generate "+g.Name+form.usage()),
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(cmd *cobra.Command, args []string) error {
			return form.checkArgs(g.Name, args, cmd.Flags().Changed("input") || c.draft != "")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			input, err := form.input(cmd, args)
			if err != nil {
				return err
			}
			if !c.asJSON && c.draft == "" && terminal.IsTerminal(env.Out) && !cmd.Flags().Changed("input") {
				asker := mcpcli.NewAsker(mcpcli.Env{In: os.Stdin, Err: env.Err}, &terminal.Progress{})
				if input, err = askDescription(cmd.Context(), asker, g, input); err != nil {
					return err
				}
			}
			return runDrafted(cmd, env, &c, "generate_"+g.Name, input, func(e *engine.Engine, ctx context.Context, in json.RawMessage) (*engine.Result, error) {
				return e.Generate(ctx, g.Name, in, c.Options)
			})
		},
	}
	c.addFlags(cmd, true)
	c.addDraftFlag(cmd)
	form.addFlags(cmd)
	cmd.Flags().BoolVar(&c.noNet, "no-net", false, noNetUsage)
	return cmd
}

// askDescription returns the input of a generator, with the description that the user types if
// models need one and the input has none. An empty line stands for no description. asker may be
// nil.
func askDescription(ctx context.Context, asker *mcpcli.Asker, g gen.Generator, input json.RawMessage) (json.RawMessage, error) {
	example, missing := g.MissingDescription(input)
	if !missing || asker == nil {
		return input, nil
	}
	example = strings.TrimSuffix(strings.Replace(example, "Such", "such", 1), ".")
	text, err := asker.Line(ctx, fmt.Sprintf("Description for models, %s (empty for none)", example), "")
	switch {
	case ctx.Err() != nil:
		return nil, mcpcli.ErrInterrupted
	case err != nil && !errors.Is(err, io.EOF) || text == "":
		return input, nil
	}
	all := map[string]json.RawMessage{}
	if err := strictjson.Unmarshal(input, &all); err != nil {
		return nil, err
	}
	all["description"] = strictjson.AppendString(nil, text)
	return strictjson.Marshal(all)
}

// A form maps a command line to the input of a generator.
type form struct {
	positional []*mcpcli.Property // the required properties, and name
	variadic   *mcpcli.Property   // the first list: the remaining arguments, and also a flag; may be nil
	flags      []*mcpcli.Property // the properties with flags
}

func newForm(schema json.RawMessage) *form {
	f := &form{}
	for _, p := range mcpcli.ReadProperties(schema) {
		switch {
		case p.IsList() && !readsFile(p) && f.variadic == nil:
			f.variadic = p
			f.flags = append(f.flags, p)
		case p.Required || p.Name == "name" && len(f.positional) == 0:
			f.positional = append(f.positional, p)
		default:
			f.flags = append(f.flags, p)
		}
	}
	return f
}

// readsFile reports whether the flag of a property can also read its value, Go code or objects,
// from a file.
func readsFile(p *mcpcli.Property) bool {
	return p.Format == "go" || p.Format == "text" || p.IsList() && p.Items != nil && slices.Contains(p.Items.Kinds, "object")
}

func (f *form) usage() string {
	text := ""
	for _, p := range f.positional {
		word := strings.ToUpper(p.Name)
		if !p.Required {
			word = "[" + word + "]"
		}
		text += " " + word
	}
	if f.variadic != nil {
		text += " [" + strings.TrimSuffix(f.variadic.Name, "s") + "…]"
	}
	return text
}

func (f *form) help() string {
	var lines []string
	for _, p := range f.positional {
		lines = append(lines, strings.ToUpper(p.Name)+": "+p.Description+".")
	}
	if f.variadic != nil {
		lines = append(lines, strings.TrimSuffix(f.variadic.Name, "s")+": "+f.variadic.Description+".")
	}
	return strings.Join(lines, "\n\n")
}

// checkArgs checks the number of arguments. With --input, arguments are optional.
func (f *form) checkArgs(kind string, args []string, hasInput bool) error {
	switch {
	case len(args) < len(f.positional) && !hasInput && f.positional[len(args)].Required:
		return fmt.Errorf("generate %s needs %s: usage: %s%s", kind, strings.ToUpper(f.positional[len(args)].Name), kind, f.usage())
	case len(args) > len(f.positional) && f.variadic == nil:
		return fmt.Errorf("unexpected argument %q: usage: %s%s", args[len(f.positional)], kind, f.usage())
	}
	return nil
}

// flagName returns the name of the flag of a property. It differs from the flags that all commands
// have.
func flagName(p *mcpcli.Property) string {
	name := strings.ReplaceAll(p.Name, "_", "-")
	switch name {
	case "detail", "dir", "draft", "dry-run", "help", "input", "json", "no-color", "no-data", "no-exec", "no-net":
		return "input-" + name
	}
	return name
}

// directiveUsage is the usage of [gen.Directives], whose schemas have no descriptions to keep the
// dev server's lists short.
var directiveUsage = map[string]string{
	"title": "for users", "hints": "for clients, such as read-only", "scopes": "that callers need, separated by spaces",
	"internal": "callable only from Go, not a tool",
}

func (f *form) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	var names []string
	for _, p := range f.flags {
		names = append(names, flagName(p))
	}
	flags.SetNormalizeFunc(plural(flags.GetNormalizeFunc(), names))
	flags.String("input", "", "`file` with the input as a JSON object, or - for standard input; arguments and flags take precedence")
	for _, p := range f.flags {
		name, usage := flagName(p), cmp.Or(p.Description, directiveUsage[p.Name])
		switch {
		case readsFile(p) && p.IsList():
			usage = "JSON `object`, which may be repeated, or list, or @FILE: " + usage
		case p.Format == "go":
			usage = "Go `code`, @FILE, or @- for standard input: " + usage
		case p.Format == "text":
			usage = "`text`, @FILE, or @- for standard input: " + usage
		case p.IsList():
			usage += " (may be repeated)"
		}
		switch {
		case flags.Lookup(name) != nil: // of another property; only --input can set this one
		case p.IsList():
			flags.StringArray(name, nil, usage)
		case slices.Contains(p.Kinds, "boolean"):
			flags.Bool(name, false, usage)
		default:
			flags.String(name, "", usage)
		}
	}
}

// plural returns a function that normalizes the names of flags: --field means --fields, if that is
// among the names.
func plural[Set, Name any](normalize func(Set, string) Name, names []string) func(Set, string) Name {
	return func(flags Set, name string) Name {
		if slices.Contains(names, name+"s") && !slices.Contains(names, name) {
			name += "s"
		}
		return normalize(flags, name)
	}
}

// input returns the input of the generator. It does not check types; the engine does.
func (f *form) input(cmd *cobra.Command, args []string) (json.RawMessage, error) {
	input := map[string]json.RawMessage{}
	if file, _ := cmd.Flags().GetString("input"); file != "" {
		text, err := readFile(cmd, "input", file)
		if err != nil {
			return nil, err
		}
		err = strictjson.Unmarshal(text, &input)
		if err == nil && input == nil {
			err = errors.New("it is null")
		}
		if err != nil {
			return nil, terminal.Usagef("--input %s: must be a JSON object: %w", file, err)
		}
	}
	for i, p := range f.positional {
		if i < len(args) {
			input[p.Name], _ = p.Parse(args[i])
		}
	}
	rest := args[min(len(args), len(f.positional)):]
	read := map[string]bool{} // flags, see addFlags
	for _, p := range f.flags {
		var words []string
		if p == f.variadic {
			words = rest
		}
		if flag := cmd.Flags().Lookup(flagName(p)); flag.Changed && !read[flag.Name] {
			read[flag.Name] = true
			if list, err := cmd.Flags().GetStringArray(flag.Name); err == nil {
				words = append(words, list...)
			} else {
				words = []string{flag.Value.String()}
			}
		}
		if len(words) == 0 {
			continue
		}
		var err error
		if input[p.Name], err = readValue(cmd, p, words); err != nil {
			return nil, err
		}
	}
	return strictjson.Marshal(input)
}

// readValue returns the value of a property. Words that begin with @ name files, if the property
// allows that.
func readValue(cmd *cobra.Command, p *mcpcli.Property, words []string) (json.RawMessage, error) {
	for i := range words {
		if !readsFile(p) {
			break
		}
		text, err := readText(cmd, flagName(p), words[i])
		if err == nil && p.IsList() && strictjson.Check([]byte(text)) != nil {
			err = terminal.Usagef("--%s: %.80s is not valid JSON: %w", flagName(p), text, strictjson.Check([]byte(text)))
		}
		if err != nil {
			return nil, err
		}
		words[i] = text
	}
	value, _ := p.Parse(words...) // the engine checks it
	return value, nil
}

func readFile(cmd *cobra.Command, flag, file string) (text []byte, err error) {
	if file == "-" {
		text, err = io.ReadAll(cmd.InOrStdin())
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, terminal.Usagef("--%s: %w", flag, err)
	}
	return text, nil
}

// readText returns text or, if it begins with @, the contents of the file.
func readText(cmd *cobra.Command, flag, text string) (string, error) {
	file, ok := strings.CutPrefix(text, "@")
	if !ok {
		return text, nil
	}
	contents, err := readFile(cmd, flag, file)
	return string(contents), err
}
