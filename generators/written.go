package generators

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/gen"
)

// Written is what a caller has written of a component already.
type Written struct {
	Body     string    `json:"body,omitempty" schema:"format=go"` // Go statements of the function, such as: return SendMailOutput{Result: in.To}, nil. ctx and in are there, optional fields are pointers, imports are added
	Examples []Example `json:"examples,omitempty"`                // Its test, which has to pass before anything is written. output is exact, error a part of one; without either, any success will do
}

// WrittenText is the same of a component that gives back text.
type WrittenText struct {
	Body     string    `json:"body,omitempty" schema:"format=go"` // Go statements of the function, which return a string and an error; otherwise as of generate_tool
	Examples []Example `json:"examples,omitempty"`                // As of generate_tool
}

// An Example is what a component is given, and what comes of it.
type Example struct {
	Name   string                     `json:"name,omitempty"`
	Input  map[string]json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage            `json:"output,omitempty"`
	Error  string                     `json:"error,omitempty"`
}

// take notes what is written of a component. callable says that it does something without a body.
func (n *named) take(w Written, callable bool) error {
	if w.Body == "" && len(w.Examples) > 0 && !callable {
		return errors.New("there are examples and no body: nothing could come of them; send the statements of the function as its body too")
	}
	if w.Body != "" {
		var err error
		if n.body, err = parseBody(w.Body); err != nil {
			return err
		}
	}
	const most = 100
	if len(w.Examples) > most {
		return fmt.Errorf("there are %d examples; send at most %d, and write more in the test", len(w.Examples), most)
	}
	seen := map[string]bool{}
	for i, e := range w.Examples {
		made, err := e.check(i)
		if err != nil {
			return err
		}
		if key := strings.ReplaceAll(strings.ToLower(made.Name), "_", " "); seen[key] {
			return fmt.Errorf("two examples are called %q; give each a name of its own, or none", made.Name)
		} else {
			seen[key] = true
		}
		n.examples = append(n.examples, made)
	}
	return nil
}

// check makes an example complete.
func (e Example) check(i int) (gen.Example, error) {
	made := gen.Example{Name: e.Name, Output: e.Output, Error: e.Error}
	if made.Name == "" {
		made.Name = "example " + strconv.Itoa(i+1)
	}
	if _, err := gen.Sentence(made.Name); err != nil || strings.ContainsAny(made.Name, "/#\\") {
		return made, fmt.Errorf("the name %q of an example does not do; use a few plain words", made.Name)
	}
	if e.Output != nil && e.Error != "" {
		return made, fmt.Errorf("the example %q has an output and an error; it can have one of them alone", made.Name)
	}
	if e.Input == nil {
		e.Input = map[string]json.RawMessage{}
	}
	var err error
	made.Input, err = strictjson.Marshal(e.Input)
	return made, err
}

// isWritten reports whether the function does something.
func (n named) isWritten() bool { return n.body != nil }

// block is what stands between the braces of the function: what was sent, or an error that says where to
// write it.
func (n named) block(zero *jen.Statement) *jen.Statement {
	if n.body != nil {
		return jen.Op(n.body.text)
	}
	return jen.Return(zero, n.unwritten())
}

// unwritten is the error of a component that is left to be written.
func (n named) unwritten() *jen.Statement {
	return jen.Qual("errors", "New").Call(jen.Lit(n.called() + " is " + n.where()))
}

// exampleTest is the test of a component that has examples: a table of them. row is what the table has of an
// example, and call is how it is checked.
func (n named) exampleTest(p gen.Project, call *jen.Statement, row func(gen.Example) (input, output *jen.Statement, err error)) (gen.GoFile, error) {
	var all []step
	for _, e := range n.examples {
		input, output, err := row(e)
		if err != nil {
			return gen.GoFile{}, err
		}
		all = append(all, step{name: e.Name, input: input, output: output, error: e.Error})
	}
	return n.test(p, func(g *jen.Group) { checks(g, p.Import("core/mcptest"), all, call) }), nil
}

// compact is JSON in one line.
func compact(raw json.RawMessage) (string, error) {
	if raw == nil {
		return "", nil
	}
	var out bytes.Buffer
	err := json.Compact(&out, raw)
	return out.String(), err
}

// textRow is an example of a component that takes texts and gives one.
func textRow(e gen.Example) (input, output *jen.Statement, err error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(e.Input, &given); err != nil {
		return nil, nil, err
	}
	for name, value := range given {
		if len(value) == 0 || value[0] != '"' {
			return nil, nil, fmt.Errorf("the example %q gives %s the value %s, and only texts can be given; write it in double quotes", e.Name, name, value)
		}
	}
	if e.Output != nil {
		var text string
		if json.Unmarshal(e.Output, &text) != nil {
			return nil, nil, fmt.Errorf("the example %q has the output %s, and what comes back is a text; write it in double quotes", e.Name, e.Output)
		}
		if text == "" {
			return nil, nil, fmt.Errorf("the example %q has no text as its output, which its test would take for any; leave the output out, and say in the test what comes back", e.Name)
		}
		output = gen.RawString(text)
	}
	return gen.RawString(string(e.Input)), output, nil
}
