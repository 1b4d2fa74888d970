package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/strictjson"
)

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

// values are words as JSON has them.
func (k kind) values(words []string) []any {
	var all []any
	for _, word := range words {
		all = append(all, k.value(word))
	}
	return all
}

// newForm reads the schema of an input.
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

// usage is what stands behind the command.
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

// help says what the words mean.
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
		return fmt.Errorf("%q is more than a %s takes: %s%s", args[len(f.words)], kind, kind, f.usage())
	}
	return nil
}

// flag is the name of the flag of a property. Those that all commands have stay theirs.
func (p property) flag() string {
	name := strings.ReplaceAll(p.name, "_", "-")
	switch name {
	case "dir", "dry-run", "help", "input", "json", "no-exec":
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

// flags declares the properties that are flags.
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

// fill is the input as JSON.
func (f *form) fill(cmd *cobra.Command, args []string) (json.RawMessage, error) {
	input := map[string]any{}
	if err := f.readsOnce(cmd); err != nil {
		return nil, err
	}
	if flags := cmd.Flags(); flags.Changed("input") {
		file, err := flags.GetString("input")
		if err == nil {
			input, err = whole(cmd, file)
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

// value is what the flag of a property was set to.
func (p property) value(cmd *cobra.Command) (any, error) {
	flags, name := cmd.Flags(), p.flag()
	switch p.Type {
	case "array":
		words, err := flags.GetStringArray(name)
		if err == nil && p.isLong() {
			return objects(cmd, name, words)
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
		return long(cmd, name, word)
	}
	return p.Type.value(word), err
}
