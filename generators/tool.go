package generators

import (
	"errors"
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// ToolInput is the input of Tool.
type ToolInput struct {
	Name        string   `json:"name,omitempty"`        // Such as send_mail; optional with from
	Fields      []string `json:"fields,omitempty"`      // Input fields: title:string, limit:int:1..100, status:enum(open,done), due:time?, tags:[]string. A description in double quotes can follow after a space
	Output      []string `json:"output,omitempty"`      // As fields. Default: result:string
	Description string   `json:"description,omitempty"` // Such as: Sends a mail.
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
	input, output, err := n.inputOutput(in.Fields, in.Output)
	if err != nil {
		return gen.Draft{}, err
	}

	file := n.file()
	input.write(file)
	output.write(file)
	n.writeFunction(file, "ctx "+file.Ref("context", "Context")+", in "+input.name, output.name, output.name+"{}")

	test, err := n.toolTest(input, output)
	return n.draft(file, test, err)
}

func (n component) toolTest(input, output structure) (gen.GoFile, error) {
	n.input, n.output = input.shape(n.project.Import(n.dir)), output.shape(n.project.Import(n.dir))
	return n.checkedTest(n.sampleInput(input.fields))
}

// checkedTest returns the test of a tool: its examples or, without any, a call with a sample input.
func (n component) checkedTest(sample *jen.Statement) (gen.GoFile, error) {
	check := fmt.Sprintf("client.CheckTool(t, %q, $example)", n.wire)
	if len(n.steps) == 0 {
		return n.plainTest(check, sample), nil
	}
	return n.exampleTest(check, n.toolRow())
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
