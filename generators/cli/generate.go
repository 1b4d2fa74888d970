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

	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

// Help texts of several commands.
const (
	noExecUsage = "type-check generated code, but do not run its tests"
	noNetUsage  = "run tests without network, if the system supports that"
	dryRunUsage = "print a diff and save a plan for apply; change no project file"
	trialHelp   = `Examples run with limits on time, memory and output. On Linux they can write only to a temporary
folder, and their child processes end with them. They can read your files and, without --no-net, use
the network. The result names limits that the system could not enforce.`
)

func newGenerate(env Env, all []gen.Generator) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "generate KIND NAME …",
		Aliases: []string{"g"},
		Short:   "Add a component to the project: a tool, a resource, a prompt, a feature, a generator",
		Long: `Add a component to the project. petrock type-checks the generated code with the rest of the project
before it writes anything, and writes all files or none. undo reverts the operation. With --dry-run,
petrock saves a plan instead; apply writes it.

--body sets the code of the component, and --examples its test. petrock builds the component and runs
its examples in a separate process before it writes anything.

` + trialHelp + `

The project's own generators are additional kinds.`,
		Example: examples(env, "generate tool send_mail to 'subject \"What it is about\"'", "g resource note 'note://{id}'", "g prompt review code 'style:enum(short,long)?'", "g tool search query 'limit:int:1..100' --dry-run", "g feature posts --crud title 'body:string?'"),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			why := ""
			if noExec, _ := cmd.Flags().GetBool("no-exec"); noExec {
				why = " (--no-exec leaves out the project's own)"
			}
			return fmt.Errorf("generator %q does not exist; the generators are %s%s%s", args[0], strings.Join(gen.Names(all), ", "), why, mcpcli.Suggest(args[0], gen.Names(all)))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	new(projectFlags).addFlags(cmd, true) // for generators that this petrock does not know
	cmd.Flags().Lookup("dry-run").Usage = dryRunUsage
	cmd.Flags().Bool("no-exec", false, noExecUsage)
	cmd.Flags().Bool("no-net", false, noNetUsage)
	for _, g := range all {
		cmd.AddCommand(newGenerator(env, g))
	}
	return cmd
}

// newGenerator returns the command of one generator. Its arguments and flags are the properties of the
// generator's input.
func newGenerator(env Env, g gen.Generator) *cobra.Command {
	var c projectFlags
	var noExec, noNet bool
	form, err := newForm(g.InputSchema)
	short, _, _ := strings.Cut(g.Description, ":")
	short, _, _ = strings.Cut(short, ". ")
	cmd := &cobra.Command{
		Use:               g.Name + form.usage(),
		Short:             strings.TrimSuffix(short, "."),
		Long:              g.Description + "\n\n" + form.help(),
		Example:           examples(env, generatorExamples(g.Name, form)...),
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(cmd *cobra.Command, args []string) error {
			return form.checkArgs(g.Name, args, cmd.Flags().Changed("input"))
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
	c.addFlags(cmd, true)
	cmd.Flags().Lookup("dry-run").Usage = dryRunUsage
	form.addFlags(cmd)
	cmd.Flags().BoolVar(&noExec, "no-exec", false, noExecUsage)
	cmd.Flags().BoolVar(&noNet, "no-net", false, noNetUsage)
	return cmd
}

func generatorExamples(kind string, f *form) []string {
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
			`generate command posts/publish id --check 'return s.checkID(c.ID)' --body 's.Posts[c.ID].UpdatedAt = e.Time; return PublishOutput{}'`,
		}
	case "query":
		return []string{`generate query posts/count --output 'count:int' --body 'return CountOutput{Count: len(s.Posts)}, nil'`}
	case "worker":
		return []string{`generate worker posts/digest --on posts/create`, `generate worker posts/sweep --every 5m`}
	case "version":
		return []string{
			`generate version posts/create --rename body=text`,
			`generate version posts/create --rename title=headline --rename body=text`,
		}
	case "generator":
		return []string{
			`generate generator handler --description 'Makes a handler.'`,
			`generate handler first`,
			`generate generator page --path 'docs/*.md' --template '# {{.Human}}'`,
			`generate generator macro subject:string:1..80 --template @macro.tmpl --test @macro_test.tmpl`,
		}
	}
	return []string{"generate " + kind + f.usage()}
}

// A form maps a command line to the input of a generator.
type form struct {
	positional []property // the required properties, and name
	variadic   *property  // the first list: the remaining arguments, and also a flag; may be nil
	flags      []property // the other properties
}

// A property is a property of a generator's input schema.
type property struct {
	name        string
	optional    bool
	Type        jsonType `json:"type"`
	Format      string   `json:"format"`
	Description string   `json:"description"`
	Items       struct {
		Type jsonType `json:"type"`
	} `json:"items"`
}

// readsFile reports whether the flag can also read its value, Go code or objects, from a file.
func (p property) readsFile() bool {
	return p.Format == "go" || p.Format == "text" || p.Type == "array" && p.Items.Type == "object"
}

// A jsonType is a JSON type: the first one that a schema names.
type jsonType string

// UnmarshalJSON decodes a type, or a list of types.
func (t *jsonType) UnmarshalJSON(text []byte) error {
	var list []string
	if json.Unmarshal(text, &list) == nil && len(list) > 0 {
		*t = jsonType(list[0])
		return nil
	}
	return json.Unmarshal(text, (*string)(t))
}

// parse returns a word as a JSON value. It does not check the type; the schema does.
func (t jsonType) parse(word string) any {
	if t != "string" && json.Valid([]byte(word)) {
		return json.RawMessage(word)
	}
	return word
}

func (t jsonType) parseAll(words []string) []any {
	var all []any
	for _, word := range words {
		all = append(all, t.parse(word))
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
		return f, fmt.Errorf("parse the input schema of a generator: %w", err)
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
		case p.Type == "array" && !p.readsFile() && f.variadic == nil:
			f.variadic = &p
		case !p.optional || p.name == "name" && len(f.positional) == 0:
			f.positional = append(f.positional, p)
		default:
			f.flags = append(f.flags, p)
		}
		return nil
	})
	return f, err
}

func (f *form) usage() string {
	text := ""
	for _, p := range f.positional {
		word := strings.ToUpper(p.name)
		if p.optional {
			word = "[" + word + "]"
		}
		text += " " + word
	}
	if f.variadic != nil {
		text += " [" + strings.TrimSuffix(f.variadic.name, "s") + "…]"
	}
	return text
}

func (f *form) help() string {
	var out strings.Builder
	for _, p := range f.positional {
		fmt.Fprintf(&out, "%s: %s.\n", strings.ToUpper(p.name), p.Description)
	}
	if f.variadic != nil {
		fmt.Fprintf(&out, "%s: %s.\n", strings.TrimSuffix(f.variadic.name, "s"), f.variadic.Description)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// checkArgs checks the number of arguments. With --input, arguments are optional.
func (f *form) checkArgs(kind string, args []string, hasInput bool) error {
	switch {
	case len(args) < len(f.positional) && !hasInput && !f.positional[len(args)].optional:
		return fmt.Errorf("generate %s needs %s: usage: %s%s", kind, strings.ToUpper(f.positional[len(args)].name), kind, f.usage())
	case len(args) > len(f.positional) && f.variadic == nil:
		return fmt.Errorf("unexpected argument %q: usage: %s%s", args[len(f.positional)], kind, f.usage())
	}
	return nil
}

// flag returns the name of the flag of a property. It differs from the flags that all commands have.
func (p property) flag() string {
	name := strings.ReplaceAll(p.name, "_", "-")
	switch name {
	case "detail", "dir", "dry-run", "help", "input", "json", "no-color", "no-exec", "no-net":
		return "input-" + name
	}
	return name
}

// flagged returns the properties that have flags.
func (f *form) flagged() []property {
	if f.variadic == nil {
		return f.flags
	}
	return append([]property{*f.variadic}, f.flags...)
}

func (f *form) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.String("input", "", "`file` with the input as a JSON object, or - for standard input; arguments and flags take precedence")
	for _, p := range f.flagged() {
		name := p.flag()
		switch {
		case flags.Lookup(name) != nil: // of another property; only --input can set this one
			continue
		case p.readsFile() && p.Type == "array":
			flags.StringArray(name, nil, "JSON `object`, or @FILE with an object or a list; may be repeated: "+p.Description)
			continue
		case p.readsFile():
			what := "Go `code`"
			if p.Format == "text" {
				what = "`text`"
			}
			flags.String(name, "", what+", @FILE, or @- for standard input: "+p.Description)
			continue
		}
		switch p.Type {
		case "array":
			flags.StringArray(name, nil, p.Description+" (may be repeated)")
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
	if err := f.checkStdin(cmd); err != nil {
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
	for i, p := range f.positional {
		if i < len(args) {
			input[p.name] = p.Type.parse(args[i])
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
	if len(args) > len(f.positional) {
		flagged, _ := input[f.variadic.name].([]any)
		input[f.variadic.name] = append(f.variadic.Items.Type.parseAll(args[len(f.positional):]), flagged...)
	}
	return strictjson.Marshal(input)
}

func (p property) value(cmd *cobra.Command) (any, error) {
	flags, name := cmd.Flags(), p.flag()
	switch p.Type {
	case "array":
		words, err := flags.GetStringArray(name)
		if err == nil && p.readsFile() {
			return readObjects(cmd, name, words)
		}
		return p.Items.Type.parseAll(words), err
	case "boolean":
		return flags.GetBool(name)
	case "integer":
		return flags.GetInt64(name)
	case "number":
		return flags.GetFloat64(name)
	}
	word, err := flags.GetString(name)
	if err == nil && p.readsFile() {
		return readText(cmd, name, word)
	}
	return p.Type.parse(word), err
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

// checkStdin refuses more than one flag that reads standard input.
func (f *form) checkStdin(cmd *cobra.Command) error {
	var all []string
	if value, err := cmd.Flags().GetString("input"); err == nil && value == "-" {
		all = append(all, "--input -")
	}
	for _, p := range f.flags {
		if flag := cmd.Flags().Lookup(p.flag()); p.readsFile() && flag != nil && flag.Changed && strings.Contains(flag.Value.String(), "@-") {
			all = append(all, "--"+p.flag()+" @-")
		}
	}
	if len(all) > 1 {
		return terminal.Usagef("%s: standard input can be read only once; use files for the others", strings.Join(all, " and "))
	}
	return nil
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

func readInput(cmd *cobra.Command, file string) (map[string]any, error) {
	text, err := readFile(cmd, "input", file)
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := strictjson.Unmarshal(text, &raw); err != nil {
		return nil, terminal.Usagef("--input %s: must be a JSON object: %w", file, err)
	}
	input := map[string]any{}
	for name, value := range raw {
		input[name] = value
	}
	return input, nil
}

// readObjects returns JSON objects. Each text is an object, or @ and a file with an object or a list of
// objects.
func readObjects(cmd *cobra.Command, flag string, texts []string) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for _, text := range texts {
		contents, err := readText(cmd, flag, text)
		if err != nil {
			return nil, err
		}
		var list []json.RawMessage
		if raw := bytes.TrimSpace([]byte(contents)); !bytes.HasPrefix(raw, []byte("[")) {
			list = []json.RawMessage{raw}
		} else if err := strictjson.Unmarshal(raw, &list); err != nil {
			return nil, terminal.Usagef("--%s: %w", flag, err)
		}
		for _, raw := range list {
			if !bytes.HasPrefix(raw, []byte("{")) {
				return nil, terminal.Usagef(`--%s: %.80s is not a JSON object; write {"input":{…}}, or @FILE`, flag, raw)
			}
			if err := strictjson.Check(raw); err != nil {
				return nil, terminal.Usagef("--%s: %.80s is not valid JSON: %w", flag, raw, err)
			}
		}
		all = append(all, list...)
	}
	return all, nil
}
