package generators

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/emit"
	"github.com/petrock/petrock/generators/kit"
	"github.com/petrock/petrock/generators/naming"
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
type call struct{ tool, input string }

// tried notes what is written of a component, and the calls that show that it works. Those at the beginning that are of other
// tools, and of which nothing is said but that they are made, are what is given.
func (n *named) tried(body string, steps []Step) error {
	w, given := Written{Body: body}, true
	for i, s := range steps {
		tool := s.Tool
		if tool == "" {
			tool = n.wire
		}
		if _, err := naming.Parse(tool); err != nil {
			return fmt.Errorf("example %d calls %q, which is no tool; name one as clients do, such as posts_create", i+1, tool)
		}
		given = given && tool != n.wire && s.Output == nil && s.Error == "" && s.Name == ""
		if !given {
			n.tools = append(n.tools, tool)
			w.Examples = append(w.Examples, Example{Name: s.Name, Input: s.Input, Output: s.Output, Error: s.Error})
			continue
		}
		made, err := inputOf(s.Input)
		if err != nil {
			return err
		}
		n.given = append(n.given, call{tool, made})
	}
	if body == "" && len(steps) > 0 && len(w.Examples) == 0 {
		return errors.New("there are examples and no body: nothing could come of them; send the statements of the function as its body too")
	}
	return n.take(w, false)
}

// inputOf is what a tool is given, in one line.
func inputOf(input map[string]json.RawMessage) (string, error) {
	if input == nil {
		return "{}", nil
	}
	text, err := strictjson.Marshal(input)
	if err != nil {
		return "", err
	}
	return compact(text)
}

// steps are the examples of a component as its test has them.
func (n named) steps() ([]step, error) {
	var all []step
	for i, e := range n.examples {
		input, output, err := jsonRow(e)
		if err != nil {
			return nil, err
		}
		s := step{tool: n.tools[i], name: e.Name, input: input, error: e.Error}
		if output != "" {
			s.output = emit.Raw(output)
		}
		all = append(all, s)
	}
	return all, nil
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
func (n named) trial() kit.Trial {
	if len(n.examples)+len(n.given) == 0 {
		return kit.Trial{}
	}
	return kit.Trial{Test: "Test" + n.goName, Examples: n.examples}
}
