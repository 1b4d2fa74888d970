package generators

import (
	"fmt"
	"strings"

	"github.com/petrock/petrock/generators/gen"
)

// PromptInput is what the generator of prompts takes.
type PromptInput struct {
	Name        string   `json:"name"`                  // Name of the prompt, such as review
	Fields      []string `json:"fields,omitempty"`      // Its arguments, which are text: code, style:enum(short,long)?, as fields of generate_tool
	Description string   `json:"description,omitempty"` // What the prompt is for, such as: Asks for a review.
	WrittenText
}

// Prompt makes a prompt: a message for the model that a person can ask for, with its test. Its arguments
// are text, or one of several texts.
func Prompt(p gen.Project, in PromptInput) (gen.Draft, error) {
	n, err := names(p, "prompt", "prompts", in.Name, in.Description)
	if err != nil {
		return gen.Draft{}, err
	}
	if err := n.take(Written(in.WrittenText), false); err != nil {
		return gen.Draft{}, err
	}
	arguments, err := gen.ParseFields(in.Fields)
	if err != nil {
		return gen.Draft{}, err
	}
	var given []string
	for _, f := range arguments {
		switch f.Type.Kind {
		case gen.KindString, gen.KindEnum, gen.KindTime:
		default:
			return gen.Draft{}, fmt.Errorf("the argument %s is of type %s, and a prompt is given text alone; make it string, enum(a,b) or time, and read the text in the function", f.Name, f.Type)
		}
		if !f.Optional {
			given = append(given, fmt.Sprintf("%q: %q", f.Name, f.Sample()))
		}
	}

	filled := structure{name: n.goName + "Input", prefix: n.goName, about: "is what " + n.wire + " is filled in with.", fields: arguments}
	if err := n.apart(filled); err != nil {
		return gen.Draft{}, err
	}

	file := n.file(p)
	filled.write(file)
	n.function(file, "ctx "+file.Ref("context", "Context")+", in "+filled.name, "string", `""`)

	test, err := n.promptTest(p, given)
	return n.draft(p, file, test, err)
}

func (n named) promptTest(p gen.Project, given []string) (gen.GoFile, error) {
	switch {
	case len(n.examples) > 0:
		return n.exampleTest(p, fmt.Sprintf("client.CheckPrompt(t, %q, example)", n.wire), textRow)
	case n.isWritten():
		return n.listedTest(p, "Prompts"), nil
	}
	return n.unwrittenTest(p, fmt.Sprintf(`client.Call("prompts/get", map[string]any{"name": %q, "arguments": map[string]string{%s}}, nil)`, n.wire, strings.Join(given, ", "))), nil
}
