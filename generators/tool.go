package generators

import (
	"fmt"

	"github.com/petrock/petrock/generators/gen"
)

// ToolInput is the input of Tool.
type ToolInput struct {
	Name        string   `json:"name,omitempty"`        // Such as send_mail; optional with from
	Fields      []string `json:"fields,omitempty"`      // Input fields: title:string, limit:int:1..100=20, status:enum(open,done), due:date?, code:string:/^[A-Z]+$/, tags:[]desk.Tag. A description in double quotes can follow after a space
	Output      []string `json:"output,omitempty"`      // As fields. Default: result:string
	Description string   `json:"description,omitempty"` // Such as: Sends a mail.
	Asks        []string `json:"asks,omitempty"`        // Fields of a form for the user; the first description asks. In scope: answer; in examples: answers.answer
	From        string   `json:"from,omitempty"`        // Instead of fields, output and body: ./store.Find or ./store.Variable.Method
	Implementation
	gen.Directives
}

// Tool creates a tool: a function with input and output types, and a test. With a body and examples
// it is complete.
func Tool(p gen.Project, in ToolInput) (gen.Draft, error) {
	if in.From != "" {
		return toolFrom(p, in)
	}
	if in.Name == "" {
		return gen.Draft{}, fmt.Errorf("a tool needs a name, such as send_mail, or %s, a function of the project such as ./store.Find", p.Call("", "from", nil))
	}
	n, err := newComponent(p, "tool", request{in.Name, in.Description, in.Fields, in.Output, in.Implementation, in.Directives})
	if err != nil {
		return gen.Draft{}, err
	}
	if err := n.setForm(in.Asks); err != nil {
		return gen.Draft{}, err
	}
	file := n.toolFile()
	n.writeFunction(file, "ctx "+file.Ref("context", "Context")+", in "+n.input.name, n.output.name, n.output.name+"{}")
	return n.toolDraft(file)
}

// formKey is the key of the form that a tool asks for. It stays when the tool is renamed.
const formKey = "answer"

// setForm sets the form that the tool asks the user for.
func (n *component) setForm(asks []string) (err error) {
	if len(asks) == 0 {
		return nil
	}
	n.form = structure{StructCode: gen.StructCode{Prefix: n.goName + "Answer"}, name: n.goName + "Answer", about: n.goName + "Answer is the user's answer to the question of " + n.wire + "."}
	n.form.fields, err = n.project.ParseFields(n.dir, asks)
	if err == nil && n.form.fields[0].Description == "" {
		err = fmt.Errorf(`the question of %q is missing; write it as the description of the first field, such as confirm:bool "Remove all notes?"`, asks[0])
	}
	return err
}

// toolDraft returns the draft of a tool, command or query.
func (n component) toolDraft(file gen.GoFile) (gen.Draft, error) {
	return n.checkedDraft(file, n.toolRow)
}

// checkedDraft returns the draft of a component. Its test has its examples or, without any, a call
// with a sample input. own encodes an example of the component itself.
func (n component) checkedDraft(file gen.GoFile, own row) (gen.Draft, error) {
	if len(n.steps) == 0 {
		return n.draft(file, n.plainTest(n.sampleInput()), nil)
	}
	test, err := n.exampleTest(own)
	return n.draft(file, test, err)
}
