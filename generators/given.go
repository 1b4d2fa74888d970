package generators

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// A Step is a call in the test of a component of a feature, of the component itself if it names no tool. The calls are made one
// after the other, on one log.
type Step struct {
	Tool   string                     `json:"tool,omitempty"`
	Name   string                     `json:"name,omitempty"`
	Input  map[string]json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage            `json:"output,omitempty"`
	Error  string                     `json:"error,omitempty"`
}

// A call is that of a tool which has to succeed.
type call struct {
	tool  string
	input json.RawMessage
}

// tried notes what is written of a component, and the calls that show that it works. Those at the beginning that are of other
// tools, and of which nothing is said but that they are made, are what is given.
func (n *named) tried(body string, steps []Step) error {
	w, given := Written{Body: body}, true
	for i, s := range steps {
		tool := s.Tool
		if tool == "" {
			tool = n.wire
		}
		if _, err := gen.ParseName(tool); err != nil {
			return fmt.Errorf("example %d calls %q, which is no tool; name one as clients do, such as posts_create", i+1, tool)
		}
		given = given && tool != n.wire && s.Output == nil && s.Error == "" && s.Name == ""
		if !given {
			n.tools = append(n.tools, tool)
			w.Examples = append(w.Examples, Example{Name: s.Name, Input: s.Input, Output: s.Output, Error: s.Error})
			continue
		}
		made, err := Example{Input: s.Input}.check(i)
		if err != nil {
			return err
		}
		n.given = append(n.given, call{tool, made.Input})
	}
	if body == "" && len(steps) > 0 && len(w.Examples) == 0 {
		return errors.New("there are examples and no body: nothing could come of them; send the statements of the function as its body too")
	}
	return n.take(w, false)
}

// steps are the examples of a component as its test has them.
func (n named) steps(p gen.Project) ([]step, error) {
	var all []step
	for i, e := range n.examples {
		input, output, err := n.toolRow(p, n.tools[i], e)
		if err != nil {
			return nil, err
		}
		all = append(all, step{tool: n.tools[i], name: e.Name, input: input, output: output, error: e.Error})
	}
	return all, nil
}

// toolRow is an example of a tool: Go values where they are known, and JSON text otherwise.
func (n named) toolRow(p gen.Project, tool string, e gen.Example) (input, output *jen.Statement, err error) {
	if e.Output != nil {
		text, err := compact(e.Output)
		if err != nil {
			return nil, nil, err
		}
		output = gen.RawString(text)
		if made, ok := n.output.literal(e.Output); ok && tool == n.wire {
			output = made
		}
	}
	return n.argument(p, tool, e.Input), output, nil
}

// alone reports whether all examples are of the component itself.
func (n named) alone() bool {
	for _, tool := range n.tools {
		if tool != n.wire {
			return false
		}
	}
	return true
}

// trial is how the component shows that it works.
func (n named) trial() gen.Trial {
	if len(n.examples)+len(n.given) == 0 {
		return gen.Trial{}
	}
	return gen.Trial{Test: "Test" + n.goName, Examples: n.examples}
}
