package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/strictjson"
)

// A form is the input of a generator, as it is typed: the properties that must be there are words, in
// their order, and the first list takes the words that are left. All others are flags.
type form struct {
	words  []property
	rest   *property
	others []property
}

// A property is one of the input.
type property struct {
	name        string
	Type        string `json:"type"`
	Description string `json:"description"`
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
		p := property{name: string(key)}
		if err := json.Unmarshal(value, &p); err != nil {
			return err
		}
		switch {
		case p.Type == "array" && f.rest == nil:
			f.rest = &p
		case required[p.name]:
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
		text += " " + strings.ToUpper(p.name)
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

// check says what is wrong with the number of words.
func (f *form) check(kind string, args []string) error {
	switch {
	case len(args) < len(f.words):
		missing := f.words[len(args)]
		return fmt.Errorf("a %s needs a %s: %s%s", kind, missing.name, kind, f.usage())
	case len(args) > len(f.words) && f.rest == nil:
		return fmt.Errorf("%q is more than a %s takes: %s%s", args[len(f.words)], kind, kind, f.usage())
	}
	return nil
}

// flags declares the properties that are flags.
func (f *form) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	for _, p := range f.others {
		name := strings.ReplaceAll(p.name, "_", "-")
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
	flags := cmd.Flags()
	input := map[string]any{}
	for i, p := range f.words {
		input[p.name] = args[i]
	}
	if rest := args[len(f.words):]; len(rest) > 0 {
		input[f.rest.name] = rest
	}
	for _, p := range f.others {
		name := strings.ReplaceAll(p.name, "_", "-")
		if !flags.Changed(name) {
			continue
		}
		var err error
		switch p.Type {
		case "array":
			input[p.name], err = flags.GetStringArray(name)
		case "boolean":
			input[p.name], err = flags.GetBool(name)
		case "integer":
			input[p.name], err = flags.GetInt64(name)
		case "number":
			input[p.name], err = flags.GetFloat64(name)
		default:
			input[p.name], err = flags.GetString(name)
		}
		if err != nil {
			return nil, err
		}
	}
	return strictjson.Marshal(input)
}
