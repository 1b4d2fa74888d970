package mcpconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// An Input is something that .vscode/mcp.json has people asked for, by ${input:ID}.
type Input struct {
	File        string // that has it
	ID          string
	Type        string // promptString or pickString
	Description string
	Default     string   // "" if there is none
	Password    bool     // not to be shown
	Options     []Option // of pickString: the answer has to be the value of one of them
}

// An Option is one answer to choose.
type Option struct {
	Label string // as people read it
	Value string
}

// Variable is the environment variable that answers for the input, and keeps anybody from being asked: that of orchard-token is
// MCP_INPUT_ORCHARD_TOKEN.
func (in Input) Variable() string {
	return "MCP_INPUT_" + strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, in.ID)
}

// ErrUnasked says that an input is wanted, and nobody is there to answer. A client asks for it.
var ErrUnasked = errors.New("there is nobody to ask")

// An answerKey is the input that an answer is for.
type answerKey struct{ file, id string }

// An answer is kept: nobody is asked twice.
type answer struct {
	text string
	err  error
}

// input returns the answer to an input of a file.
func (w *world) input(s *source, id string) (string, error) {
	key := answerKey{s.file, id}
	a, ok := w.answers[key]
	if !ok {
		a.text, a.err = w.ask(s, id)
		w.answers[key] = a
	}
	return a.text, a.err
}

func (w *world) ask(s *source, id string) (string, error) {
	in, err := findInput(s, id)
	if err != nil {
		return "", err
	}
	text, ok := w.getenv(in.Variable())
	switch {
	case ok:
	case in.Type != "promptString" && in.Type != "pickString":
		return "", fmt.Errorf("the input %q is of a type that the editor alone can ask for; set %s in the environment", id, in.Variable())
	case w.Input != nil:
		if text, err = w.Input(in); err != nil {
			return "", fmt.Errorf("asking for the input %q: %w", id, err)
		}
	case in.Default != "":
		text = in.Default
	default:
		return "", fmt.Errorf("%w for the input %q, and it has no default; set %s in the environment", ErrUnasked, id, in.Variable())
	}
	if in.Type == "pickString" && !slices.ContainsFunc(in.Options, func(o Option) bool { return o.Value == text }) {
		var values []string
		for _, o := range in.Options {
			values = append(values, o.Value)
		}
		return "", fmt.Errorf("the answer to the input %q is none of its options: %q", id, values)
	}
	return text, nil
}

// findInput returns the input of a file that is called id.
func findInput(s *source, id string) (Input, error) {
	if s.inputs == nil {
		return Input{}, noInput(id)
	}
	var found Input
	err := strictjson.Elements(s.inputs, func(element []byte) error {
		var in struct {
			ID          string            `json:"id"`
			Type        string            `json:"type"`
			Description string            `json:"description"`
			Default     string            `json:"default"`
			Password    bool              `json:"password"`
			Options     []json.RawMessage `json:"options"`
		}
		if err := strictjson.Unmarshal(element, &in); in.ID != id || found.ID != "" {
			return nil // the first counts, and another may be as wrong as it likes
		} else if err != nil {
			return err
		}
		found = Input{s.file, id, in.Type, in.Description, in.Default, in.Password, nil}
		for _, raw := range in.Options {
			option, err := decodeOption(raw)
			if err != nil {
				return err
			}
			found.Options = append(found.Options, option)
		}
		return nil
	})
	if err != nil {
		return Input{}, fmt.Errorf("the input %q: %w", id, err)
	}
	if found.ID == "" {
		return Input{}, noInput(id)
	}
	return found, nil
}

func noInput(id string) error { return fmt.Errorf("there is no input %q; add it to inputs", id) }

// decodeOption reads an option, which is a text, or an object with a label and a value.
func decodeOption(raw []byte) (Option, error) {
	if text, ok := strictjson.Unquote(raw); ok {
		return Option{text, text}, nil
	}
	var o struct {
		Label string `json:"label"`
		Value string `json:"value"`
	}
	if err := strictjson.Unmarshal(raw, &o); err != nil {
		return Option{}, fmt.Errorf("options: %w", err)
	}
	return Option{o.Label, o.Value}, nil
}
