package generators

import (
	"errors"

	"github.com/petrock/petrock/generators/gen"
)

// CommandInput is the input of Command.
type CommandInput struct {
	Name        string     `json:"name"`                               // Such as posts/publish
	Fields      []string   `json:"fields,omitempty"`                   // Input fields, as for a tool
	Output      []string   `json:"output,omitempty"`                   // As for a tool. Default: none; the body still returns PublishOutput{}
	Description string     `json:"description,omitempty"`              // Such as: Publishes a post.
	Check       string     `json:"check,omitempty" schema:"format=go"` // Go statements that return an error if it is not possible now, else nil. In scope: ctx, c (the command), s (*State)
	Body        string     `json:"body,omitempty" schema:"format=go"`  // Go statements that change s and return PublishOutput{…}. In scope: c, s and e (e.ID: new id, e.Time: now, e.Actor: caller). No clock, randomness or I/O: events are replayed
	Examples    []gen.Step `json:"examples,omitempty"`                 // Test cases, run in order on one event log; tool calls another tool. New ids are id1, id2, …. Keys: tool, name, input, output, error, later, answers
	gen.Directives
}

// Command creates a command: a tool that changes the state of a feature. It also creates the
// feature if needed.
func Command(p gen.Project, in CommandInput) (gen.Draft, error) {
	n, err := newComponent(p, "command", request{in.Name, in.Description, in.Fields, in.Output, Implementation{in.Body, in.Examples}, in.Directives})
	if err != nil {
		return gen.Draft{}, err
	}
	if in.Check != "" {
		if n.body == nil {
			return gen.Draft{}, errors.New("check without body; send the statements that change the state as body too")
		}
		if n.check, err = parseBody("check", in.Check); err != nil {
			return gen.Draft{}, err
		}
	}
	file := n.toolFile()
	n.writeCommandMethods(file, n.output.name)
	return n.toolDraft(file)
}

func (n component) writeCommandMethods(file gen.GoFile, output string) {
	check, apply := "return nil", "return "+output+"{}"
	switch {
	case n.check != nil:
		check, apply = n.check.text, n.body.text
	case n.isWritten():
		apply = n.body.text
	default:
		check = "return " + n.unwrittenError(file)
	}
	replay := ""
	if !n.isWritten() {
		replay = " It runs again on replay, so it depends only on s, c and e: use e.ID as the ID of something new, e.Time as the current time, and e.Actor as the caller."
	}
	file.Text(`// Check returns an error if the command cannot be executed now. It must not change s.
func (c `+n.goName+`) Check(ctx context.Context, s *State) error {
`+check+`
}

// Apply executes the command on s.`+replay+`
func (c `+n.goName+`) Apply(s *State, e app.Event) `+output+` {
`+apply+`
}`, "context", n.project.Import("core/app"))
}

// QueryInput is the input of Query.
type QueryInput struct {
	Name        string     `json:"name"`                              // Such as posts/count
	Fields      []string   `json:"fields,omitempty"`                  // Input fields, as for a tool
	Output      []string   `json:"output,omitempty"`                  // As for a tool. Default: result:string
	Description string     `json:"description,omitempty"`             // Such as: Counts posts.
	Body        string     `json:"body,omitempty" schema:"format=go"` // Go statements that return CountOutput{…} and an error, and do not change s. In scope: ctx, q (the query), s (*State)
	Examples    []gen.Step `json:"examples,omitempty"`                // As for a command
	gen.Directives
}

// Query creates a query: a tool that reads the state of a feature. It also creates the feature if
// needed.
func Query(p gen.Project, in QueryInput) (gen.Draft, error) {
	n, err := newComponent(p, "query", request{in.Name, in.Description, in.Fields, in.Output, Implementation{in.Body, in.Examples}, in.Directives})
	if err != nil {
		return gen.Draft{}, err
	}
	file := n.toolFile()
	file.Text(`// Answer returns the result of the query. It must not change s.
func (q `+n.goName+`) Answer(ctx context.Context, s *State) (`+n.output.name+`, error) {
`+n.statements(file, n.output.name+"{}")+`
}`, "context")
	return n.toolDraft(file)
}
