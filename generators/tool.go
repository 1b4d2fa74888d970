package generators

import (
	"errors"
	"fmt"

	"github.com/petrock/petrock/generators/gen"
)

// ToolInput is the input of Tool.
type ToolInput struct {
	Name        string   `json:"name,omitempty"`        // Such as send_mail; optional with from
	Fields      []string `json:"fields,omitempty"`      // Input fields: title:string, limit:int:1..100, status:enum(open,done), due:time?, tags:[]string. A description in double quotes can follow after a space
	Output      []string `json:"output,omitempty"`      // Output fields, in the same syntax. Default: result:string
	Description string   `json:"description,omitempty"` // Such as: Sends a mail
	From        string   `json:"from,omitempty"`        // Instead of fields, output and body: ./store.Find or ./store.Variable.Method
	Implementation
}

// Tool creates a tool: a function with input and output types, and a test. With a body and examples
// it is complete.
func Tool(p gen.Project, in ToolInput) (gen.Draft, error) {
	if in.From != "" {
		return toolFrom(p, in)
	}
	if in.Name == "" {
		return gen.Draft{}, errors.New("a tool needs a name, such as send_mail, or from (--from), a function of the project such as ./store.Find")
	}
	n, err := newComponent(p, "tool", "tools", in.Name, in.Description, in.Implementation)
	if err != nil {
		return gen.Draft{}, err
	}
	input, output, err := n.inputOutput(p, in.Fields, in.Output)
	if err != nil {
		return gen.Draft{}, err
	}

	file := n.file(p)
	input.write(file)
	output.write(file)
	n.writeFunction(file, "ctx "+file.Ref("context", "Context")+", in "+input.name, output.name, output.name+"{}")

	test, err := n.toolTest(p, input, output)
	return n.draft(p, file, test, err)
}

func (n component) toolTest(p gen.Project, input, output structure) (gen.GoFile, error) {
	n.input, n.output = input.shape(p.Import(n.dir)), output.shape(p.Import(n.dir))
	if len(n.steps) == 0 {
		return n.listedTest(p, "Tools"), nil
	}
	return n.toolExamples(p)
}

func (n component) toolExamples(p gen.Project) (gen.GoFile, error) {
	return n.exampleTest(p, fmt.Sprintf("client.CheckTool(t, %q, $example)", n.wire), n.toolRow(p))
}

// A body holds the statements of a function that the caller sent.
type body struct {
	imports []gen.Import // import declarations before the statements
	text    string
}

// parseBody is [gen.ParseBody] for the body of a component.
func parseBody(field, text string) (*body, error) {
	imports, statements, err := gen.ParseBody(field, text)
	return &body{imports, statements}, err
}
