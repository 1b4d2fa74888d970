package generators

import (
	"errors"

	"github.com/petrock/petrock/generators/gen"
)

// CommandInput is what the generator of commands takes.
type CommandInput struct {
	Name        string   `json:"name"`                               // Feature and name, such as posts/publish
	Fields      []string `json:"fields,omitempty"`                   // Fields of its input, as of generate_tool
	Output      []string `json:"output,omitempty"`                   // Fields of its output, likewise; without any, the body returns PublishOutput{}
	Description string   `json:"description,omitempty"`              // What it does, such as: Publishes a post.
	Check       string   `json:"check,omitempty" schema:"format=go"` // Go statements that return why it cannot be done now, or nil. ctx, c (the command) and s (*State) are there
	Body        string   `json:"body,omitempty" schema:"format=go"`  // Go statements that change s and return PublishOutput{…}, by c, s and e (e.ID for something new, e.Time) alone: no clock, randomness, I/O
	Examples    []Step   `json:"examples,omitempty"`                 // Its test, in order: calls of this tool, or of another, on a log whose ids are id1, id2, …
}

// Command makes a command of a feature, or of a new one: a tool that changes its state, with its test. With a body and examples
// it is finished.
func Command(p gen.Project, in CommandInput) (gen.Draft, error) {
	n, err := inFeature(p, "command", in.Name, in.Description)
	if err != nil {
		return gen.Draft{}, err
	}
	if err := n.tried(in.Body, in.Examples); err != nil {
		return gen.Draft{}, err
	}
	if in.Check != "" {
		if n.body == nil {
			return gen.Draft{}, errors.New("there is a check and no body: nothing would come of it; send the statements that change the state as its body too")
		}
		if n.check, err = parseStatements("check", in.Check); err != nil {
			return gen.Draft{}, err
		}
	}
	taken, given, err := n.structures(in.Fields, in.Output)
	if err != nil {
		return gen.Draft{}, err
	}
	if err := n.apartFrom(taken.fields, "Check", "Apply"); err != nil {
		return gen.Draft{}, err
	}

	file := n.file(p)
	file.ImportName(p.Import("core/app"), "app")
	taken.write(file)
	given.write(file)
	n.methods(p, file, given.name)

	test, err := n.toolTest(p, taken, given)
	return n.draft(p, file, test, err)
}

// structures are the types of what a tool, command or query takes and returns.
func (n named) structures(fields, output []string) (taken, given structure, err error) {
	taken = structure{name: n.goName + "Input", prefix: n.goName, about: "is what " + n.wire + " takes."}
	given = structure{name: n.goName + "Output", prefix: n.goName + "Output", about: "is what " + n.called() + " returns."}
	if n.feature != "" {
		taken = structure{name: n.goName, prefix: n.goName, about: n.about(), directives: n.directives, logged: true}
		given.logged = true
	}
	if taken.fields, err = gen.ParseFields(fields); err != nil {
		return taken, given, err
	}
	if given.fields, err = gen.ParseFields(output); err != nil {
		return taken, given, err
	}
	result := map[string]string{"tool": "The result", "query": "The answer"}[n.kind]
	if len(given.fields) == 0 && result != "" {
		given.fields = []gen.Field{{Name: "result", Go: "Result", Type: gen.FieldType{Kind: gen.KindString}, Description: result}}
	}
	return taken, given, n.apart(taken, given)
}

// methods adds what refuses a command, and what it does to the state.
func (n named) methods(p gen.Project, file gen.GoFile, output string) {
	check, apply := "return nil", "return "+output+"{}"
	switch {
	case n.check != nil:
		check, apply = n.check.text, n.body.text
	case n.isWritten():
		apply = n.body.text
	default:
		check = "return " + n.unwritten(file)
	}
	file.Text(`// Check says why it cannot be done now. It changes nothing.
func (c `+n.goName+`) Check(ctx context.Context, s *State) error {
`+check+`
}

// Apply does it, by what is in s, c and e alone: it is done again whenever the log is read, and has to come to
// the same. The id of something new is e.ID, and now is e.Time.
func (c `+n.goName+`) Apply(s *State, e app.Event) `+output+` {
`+apply+`
}`, "context", p.Import("core/app"))
}

// QueryInput is what the generator of queries takes.
type QueryInput struct {
	Name        string   `json:"name"`                              // Feature and name, such as posts/count
	Fields      []string `json:"fields,omitempty"`                  // Fields of its input, as of generate_tool
	Output      []string `json:"output,omitempty"`                  // The answer, likewise; a text called result if left out
	Description string   `json:"description,omitempty"`             // What it answers, such as: Counts posts.
	Body        string   `json:"body,omitempty" schema:"format=go"` // Go statements that return CountOutput{…} and an error, and change nothing. ctx, q (the query) and s (*State) are there
	Examples    []Step   `json:"examples,omitempty"`                // As of generate_command
}

// Query makes a query of a feature, or of a new one: a tool that reads its state, with its test.
func Query(p gen.Project, in QueryInput) (gen.Draft, error) {
	n, err := inFeature(p, "query", in.Name, in.Description)
	if err != nil {
		return gen.Draft{}, err
	}
	if err := n.tried(in.Body, in.Examples); err != nil {
		return gen.Draft{}, err
	}
	asked, given, err := n.structures(in.Fields, in.Output)
	if err != nil {
		return gen.Draft{}, err
	}
	if err := n.apartFrom(asked.fields, "Answer"); err != nil {
		return gen.Draft{}, err
	}

	file := n.file(p)
	asked.write(file)
	given.write(file)
	file.Text(`// Answer says what s has of it. It changes nothing.
func (q `+n.goName+`) Answer(ctx context.Context, s *State) (`+given.name+`, error) {
`+n.block(file, given.name+"{}")+`
}`, "context")

	test, err := n.toolTest(p, asked, given)
	return n.draft(p, file, test, err)
}
