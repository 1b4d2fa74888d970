package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

// Usage of flags that several commands have.
const (
	noExecUsage = "run nothing: type-check what is generated, and leave its examples to go test"
	noNetUsage  = "run examples without network, if the system permits that"
)

func newGenerate(env Env, all []gen.Generator) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "generate KIND NAME …",
		Aliases: []string{"g"},
		Short:   "Add a component to the project: a tool, a resource, a prompt, a feature, a generator",
		Long: `Add a component to the project. What is generated is type-checked together with the rest
of the project before anything is written, and written whole or not at all. It is recorded,
so that undo can take it back. With --dry-run it is kept as a plan, which apply writes.

With --body a component comes with its code, and with --examples with a test; then they are built and
run too before anything is written, in a process with limits on time, memory and output. On Linux it
can write to a temporary folder alone, and its child processes end with it. It can read your files
and, without --no-net, use the network. The result names limits that the system could not enforce.

A generator that the project adds for itself is one more kind.`,
		Example: examples(env, "generate tool send_mail to 'subject \"What it is about\"'", "g resource note 'note://{id}'", "g prompt review code 'style:enum(short,long)?'", "g tool search query 'limit:int:1..100' --dry-run", "g tool --from ./store.Find", "g feature posts --crud title 'body:string?'"),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			why := ""
			if noExec, _ := cmd.Flags().GetBool("no-exec"); noExec {
				why = ", and with --no-exec none of the project's own"
			}
			return fmt.Errorf("there is no generator %q; there are %s%s", args[0], strings.Join(gen.Kinds(all), ", "), why)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	new(common).flags(cmd, true) // so that an unknown kind is reported, not an unknown flag
	cmd.Flags().Bool("no-exec", false, noExecUsage)
	cmd.Flags().Bool("no-net", false, noNetUsage)
	for _, g := range all {
		cmd.AddCommand(newGenerator(env, g))
	}
	return cmd
}

// newGenerator is the command of one generator. Its arguments and flags are the properties of
// the generator's input.
func newGenerator(env Env, g gen.Generator) *cobra.Command {
	var c common
	var noExec, noNet bool
	form, err := newForm(g.InputSchema)
	short, _, _ := strings.Cut(g.Description, ":")
	short, _, _ = strings.Cut(short, ". ")
	cmd := &cobra.Command{
		Use:               g.Name + form.usage(),
		Short:             strings.TrimSuffix(short, "."),
		Long:              g.Description + "\n\n" + form.help(),
		Example:           examples(env, example(g.Name, form)...),
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(cmd *cobra.Command, args []string) error {
			return form.check(g.Name, args, cmd.Flags().Changed("input"))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err != nil {
				return err
			}
			input, err := form.input(cmd, args)
			if err != nil {
				return err
			}
			return runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
				e.Limits.NoNet = noNet
				return e.Generate(ctx, g.Name, input, engine.Options{DryRun: c.dryRun, NoExec: noExec})
			}, printResult)
		},
	}
	c.flags(cmd, true)
	form.flags(cmd)
	cmd.Flags().BoolVar(&noExec, "no-exec", false, noExecUsage)
	cmd.Flags().BoolVar(&noNet, "no-net", false, noNetUsage)
	return cmd
}

func example(kind string, f *form) []string {
	switch kind {
	case "tool":
		return []string{
			`generate tool send_mail to 'subject "What it is about"' --description 'Sends a mail.'`,
			`generate tool search query 'limit:int:1..100' 'order:enum(up,down)?' --output 'hits:[]string'`,
			`generate tool shout text --body 'return ShoutOutput{Result: strings.ToUpper(in.Text)}, nil' --examples '{"input":{"text":"a"},"output":{"result":"A"}}'`,
			`generate tool --from ./store.Find`,
		}
	case "resource":
		return []string{`generate resource note 'note://{id}' --description 'The text of a note.'`, `generate resource settings config://settings`}
	case "prompt":
		return []string{`generate prompt review code 'style:enum(short,long)?' --description 'Asks for a review.'`}
	case "feature":
		return []string{`generate feature posts --crud 'title:string:1..200' 'body:string?'`, `generate feature accounts`}
	case "command":
		return []string{
			`generate command posts/publish id --description 'Publishes a post.'`,
			`generate command posts/publish id --check 'return s.checkID(c.ID)' --body 's.Posts[c.ID].Public = true; return PublishOutput{}'`,
		}
	case "query":
		return []string{`generate query posts/count --output 'count:int' --body 'return CountOutput{Count: len(s.Posts)}, nil'`}
	case "worker":
		return []string{`generate worker posts/digest --on posts/create`, `generate worker posts/sweep --every 5m`}
	case "version":
		return []string{
			`generate version posts/create --rename body=text`,
			`generate version posts/create --drop draft --default status=open`,
			`generate version orders/place --rename items.url=items.href`,
		}
	case "generator":
		return []string{`generate generator handler --description 'Makes a handler.'`, `generate handler first`}
	}
	return []string{"generate " + kind + f.usage()}
}

// A form is the input of a generator, as it is typed: the properties that must be there are words, in
// their order, and the first list takes the words that are left, or is a flag. All others are flags, but for a
// name: it is a word, even where it may be left out.
type form struct {
	words  []property
	rest   *property
	others []property
}

// A property is one of the input.
type property struct {
	name        string
	optional    bool
	Type        kind   `json:"type"`
	Format      string `json:"format"`
	Description string `json:"description"`
	Items       struct {
		Type kind `json:"type"`
	} `json:"items"`
}

// isLong reports whether it is rather in a file than on a command line: Go, or objects.
func (p property) isLong() bool {
	return p.Format == "go" || p.Type == "array" && p.Items.Type == "object"
}

// A kind is the type that a schema names; the first, if it names several.
type kind string

// UnmarshalJSON reads a type, or a list of them.
func (k *kind) UnmarshalJSON(text []byte) error {
	var several []string
	if json.Unmarshal(text, &several) == nil && len(several) > 0 {
		*k = kind(several[0])
		return nil
	}
	return json.Unmarshal(text, (*string)(k))
}

// value is a word as JSON has it. What is no value of its kind is left to the schema to complain of.
func (k kind) value(word string) any {
	if k != "string" && json.Valid([]byte(word)) {
		return json.RawMessage(word)
	}
	return word
}

func (k kind) values(words []string) []any {
	var all []any
	for _, word := range words {
		all = append(all, k.value(word))
	}
	return all
}

func newForm(schema json.RawMessage) (*form, error) {
	f := &form{}
	var document struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &document); err != nil {
		return f, fmt.Errorf("reading the schema of a generator's input: %w", err)
	}
	required := map[string]bool{}
	for _, name := range document.Required {
		required[name] = true
	}
	if document.Properties == nil {
		return f, nil
	}
	err := strictjson.Object(document.Properties, func(key, value []byte) error {
		p := property{name: string(key), optional: !required[string(key)]}
		if err := json.Unmarshal(value, &p); err != nil {
			return err
		}
		switch {
		case p.Type == "array" && !p.isLong() && f.rest == nil:
			f.rest = &p
		case !p.optional || p.name == "name" && len(f.words) == 0:
			f.words = append(f.words, p)
		default:
			f.others = append(f.others, p)
		}
		return nil
	})
	return f, err
}

func (f *form) usage() string {
	text := ""
	for _, p := range f.words {
		word := strings.ToUpper(p.name)
		if p.optional {
			word = "[" + word + "]"
		}
		text += " " + word
	}
	if f.rest != nil {
		text += " [" + strings.TrimSuffix(f.rest.name, "s") + "…]"
	}
	return text
}

func (f *form) help() string {
	var out strings.Builder
	for _, p := range f.words {
		fmt.Fprintf(&out, "%s: %s.\n", strings.ToUpper(p.name), p.Description)
	}
	if f.rest != nil {
		fmt.Fprintf(&out, "%s: %s.\n", strings.TrimSuffix(f.rest.name, "s"), f.rest.Description)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// check says what is wrong with the number of words. Those that must be there may be in an input that is
// given as a whole.
func (f *form) check(kind string, args []string, hasInput bool) error {
	switch {
	case len(args) < len(f.words) && !hasInput && !f.words[len(args)].optional:
		missing := f.words[len(args)]
		return fmt.Errorf("a %s needs a %s: %s%s", kind, missing.name, kind, f.usage())
	case len(args) > len(f.words) && f.rest == nil:
		return fmt.Errorf("unexpected argument %q of a %s: %s%s", args[len(f.words)], kind, kind, f.usage())
	}
	return nil
}

// flag is the name of the flag of a property. Those that all commands have stay theirs.
func (p property) flag() string {
	name := strings.ReplaceAll(p.name, "_", "-")
	switch name {
	case "dir", "dry-run", "help", "input", "json", "no-exec", "no-net":
		return "input-" + name
	}
	return name
}

// flagged are the properties that are flags. The list that takes the words that are left is one too.
func (f *form) flagged() []property {
	if f.rest == nil {
		return f.others
	}
	return append([]property{*f.rest}, f.others...)
}

func (f *form) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.String("input", "", "a `file` with all of the input as a JSON object, - for standard input; words and flags beside it win")
	for _, p := range f.flagged() {
		name := p.flag()
		switch {
		case flags.Lookup(name) != nil: // two properties would have it; --input has the other
			continue
		case p.isLong() && p.Type == "array":
			flags.StringArray(name, nil, p.Description+" (a JSON object, several times, or `@file` with one or a list of them)")
			continue
		case p.isLong():
			flags.String(name, "", p.Description+" (or `@file`, @- for standard input)")
			continue
		}
		switch p.Type {
		case "array":
			flags.StringArray(name, nil, p.Description+" (may be given several times)")
		case "boolean":
			flags.Bool(name, false, p.Description)
		case "integer":
			flags.Int64(name, 0, p.Description)
		case "number":
			flags.Float64(name, 0, p.Description)
		default:
			flags.String(name, "", p.Description)
		}
	}
}

func (f *form) input(cmd *cobra.Command, args []string) (json.RawMessage, error) {
	input := map[string]any{}
	if err := f.readsOnce(cmd); err != nil {
		return nil, err
	}
	if flags := cmd.Flags(); flags.Changed("input") {
		file, err := flags.GetString("input")
		if err == nil {
			input, err = readInput(cmd, file)
		}
		if err != nil {
			return nil, err
		}
	}
	for i, p := range f.words {
		if i < len(args) {
			input[p.name] = p.Type.value(args[i])
		}
	}
	for _, p := range f.flagged() {
		if !cmd.Flags().Changed(p.flag()) {
			continue
		}
		var err error
		if input[p.name], err = p.value(cmd); err != nil {
			return nil, err
		}
	}
	if len(args) > len(f.words) {
		flagged, _ := input[f.rest.name].([]any)
		input[f.rest.name] = append(f.rest.Items.Type.values(args[len(f.words):]), flagged...)
	}
	return strictjson.Marshal(input)
}

func (p property) value(cmd *cobra.Command) (any, error) {
	flags, name := cmd.Flags(), p.flag()
	switch p.Type {
	case "array":
		words, err := flags.GetStringArray(name)
		if err == nil && p.isLong() {
			return readObjects(cmd, name, words)
		}
		return p.Items.Type.values(words), err
	case "boolean":
		return flags.GetBool(name)
	case "integer":
		return flags.GetInt64(name)
	case "number":
		return flags.GetFloat64(name)
	}
	word, err := flags.GetString(name)
	if err == nil && p.isLong() {
		return readText(cmd, name, word)
	}
	return p.Type.value(word), err
}

func readFile(cmd *cobra.Command, flag, file string) ([]byte, error) {
	var text []byte
	var err error
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

// readsOnce refuses more than one flag that is read from standard input.
func (f *form) readsOnce(cmd *cobra.Command) error {
	var all []string
	if value, err := cmd.Flags().GetString("input"); err == nil && value == "-" {
		all = append(all, "--input -")
	}
	for _, p := range f.others {
		if flag := cmd.Flags().Lookup(p.flag()); p.isLong() && flag != nil && flag.Changed && strings.Contains(flag.Value.String(), "@-") {
			all = append(all, "--"+p.flag()+" @-")
		}
	}
	if len(all) > 1 {
		return terminal.Usagef("%s are all to be read from standard input, which can be read once; put some into files", strings.Join(all, ", "))
	}
	return nil
}

// readText returns a text, or the contents of the file after an @.
func readText(cmd *cobra.Command, flag, text string) (string, error) {
	file, ok := strings.CutPrefix(text, "@")
	if !ok {
		return text, nil
	}
	held, err := readFile(cmd, flag, file)
	return string(held), err
}

func readInput(cmd *cobra.Command, file string) (map[string]any, error) {
	text, err := readFile(cmd, "input", file)
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := strictjson.Unmarshal(text, &raw); err != nil {
		return nil, terminal.Usagef("--input %s: it has to be one JSON object: %w", file, err)
	}
	input := map[string]any{}
	for name, value := range raw {
		input[name] = value
	}
	return input, nil
}

// readObjects returns JSON objects. Each text is one, or an @ and a file with one or a list of
// them.
func readObjects(cmd *cobra.Command, flag string, texts []string) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for _, text := range texts {
		held, err := readText(cmd, flag, text)
		if err != nil {
			return nil, err
		}
		var list []json.RawMessage
		if raw := bytes.TrimSpace([]byte(held)); !bytes.HasPrefix(raw, []byte("[")) {
			list = []json.RawMessage{raw}
		} else if err := strictjson.Unmarshal(raw, &list); err != nil {
			return nil, terminal.Usagef("--%s: %w", flag, err)
		}
		for _, raw := range list {
			if err := strictjson.Check(raw); err != nil {
				return nil, terminal.Usagef("--%s: %s is not valid JSON: %w", flag, fmt.Sprintf("%.80s", raw), err)
			}
		}
		all = append(all, list...)
	}
	return all, nil
}
