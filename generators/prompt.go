package generators

import (
	"fmt"
	"strings"

	"github.com/petrock/petrock/generators/gen"
)

// PromptInput is the input of Prompt.
type PromptInput struct {
	Name        string   `json:"name"`                  // Such as review
	Fields      []string `json:"fields,omitempty"`      // Arguments of type string, enum or time: code, style:enum(short,long)?
	Description string   `json:"description,omitempty"` // Such as: Asks for a review.
	TextImplementation
}

// Prompt creates a prompt, a message template that users choose in their client.
func Prompt(p gen.Project, in PromptInput) (gen.Draft, error) {
	n, err := newComponent(p, "prompt", "prompts", in.Name, in.Description, Implementation(in.TextImplementation))
	if err != nil {
		return gen.Draft{}, err
	}
	arguments, err := gen.ParseFields(in.Fields)
	if err != nil {
		return gen.Draft{}, err
	}
	var samples []string
	for _, f := range arguments {
		switch f.Type.Kind {
		case gen.KindString, gen.KindEnum, gen.KindTime:
		default:
			return gen.Draft{}, fmt.Errorf("argument %s: prompts do not support type %s; use string, enum(a,b) or time, and parse the string in the function", f.Name, f.Type)
		}
		if !f.Optional {
			samples = append(samples, fmt.Sprintf("%q: %q", f.Name, f.Sample()))
		}
	}

	n.setUndescribed(arguments)
	input := structure{name: n.goName + "Input", prefix: n.goName, about: "holds the arguments of " + n.wire + ".", fields: arguments}
	if err := n.checkEnumNames(input); err != nil {
		return gen.Draft{}, err
	}

	file := n.file(p)
	input.write(file)
	n.writeFunction(file, "ctx "+file.Ref("context", "Context")+", in "+input.name, "string", `""`)

	test, err := n.promptTest(p, samples)
	return n.draft(p, file, test, err)
}

func (n component) promptTest(p gen.Project, samples []string) (gen.GoFile, error) {
	switch {
	case len(n.examples) > 0:
		return n.exampleTest(p, fmt.Sprintf("client.CheckPrompt(t, %q, $example)", n.wire), textRow)
	case n.isWritten():
		return n.listedTest(p, "Prompts"), nil
	}
	return n.unwrittenTest(p, fmt.Sprintf(`client.Call("prompts/get", map[string]any{"name": %q, "arguments": map[string]string{%s}}, nil)`, n.wire, strings.Join(samples, ", "))), nil
}
