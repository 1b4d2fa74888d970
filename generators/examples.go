package generators

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/gen"
)

// A Step is an example: a call of the component or, with Tool, of another tool, and the expected result.
// Later advances the clock before the call, such as 336h. All steps of a test use one event log.
type Step struct {
	Tool   string                     `json:"tool,omitempty"`
	Name   string                     `json:"name,omitempty"`
	Input  map[string]json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage            `json:"output,omitempty"`
	Error  string                     `json:"error,omitempty"`
	Later  string                     `json:"later,omitempty"`
}

// A call is a tool call that must succeed.
type call struct {
	tool  string
	input json.RawMessage
}

var errExamplesWithoutBody = errors.New("examples without body; send the statements of the function as body too")

// setImplementation sets body and examples. Leading calls of other tools without an expected result set up
// the test. callable reports that the component runs without a body.
func (n *component) setImplementation(p gen.Project, in Implementation, callable bool) error {
	if in.Body == "" && len(in.Examples) > 0 && !callable {
		return errExamplesWithoutBody
	}
	if in.Body != "" {
		var err error
		if n.body, err = parseBody("body", in.Body); err != nil {
			return err
		}
	}
	const maxExamples = 100
	if len(in.Examples) > maxExamples {
		return fmt.Errorf("too many examples: %d; send at most %d, and write more in the test", len(in.Examples), maxExamples)
	}
	seen, isSetup := map[string]bool{}, true
	for i, s := range in.Examples {
		example, err := s.check(i)
		if err != nil {
			return err
		}
		later, err := n.checkStep(p, i, s)
		if err != nil {
			return err
		}
		tool := cmp.Or(s.Tool, n.ownTool())
		if isSetup = isSetup && later == 0 && tool != n.ownTool() && s.Output == nil && s.Error == "" && s.Name == ""; isSetup {
			n.given = append(n.given, call{tool, example.Input})
			continue
		}
		key := strings.ReplaceAll(strings.ToLower(example.Name), "_", " ")
		if seen[key] {
			return fmt.Errorf("two examples are named %q; give each its own name, or none", example.Name)
		}
		seen[key] = true
		n.examples, n.tools, n.later = append(n.examples, example), append(n.tools, tool), append(n.later, later)
	}
	return nil
}

// ownTool returns the tool that the component is, or "" for a resource or prompt.
func (n component) ownTool() string {
	if n.kind == "resource" || n.kind == "prompt" {
		return ""
	}
	return n.wire
}

// checkStep checks the tool of an example, and returns how far it advances the clock. Outside of features,
// tests only serve the features that the body uses.
func (n component) checkStep(p gen.Project, i int, s Step) (later time.Duration, err error) {
	tool := cmp.Or(s.Tool, n.ownTool())
	if _, err := gen.ParseName(tool); err != nil && (s.Tool != "" || n.kind == "worker") {
		return 0, fmt.Errorf("example %d: invalid tool name %q; use the name that clients use, such as posts_create", i+1, tool)
	}
	if s.Later != "" {
		if later, err = time.ParseDuration(s.Later); err != nil || later <= 0 {
			return 0, fmt.Errorf("example %d: later %q is not a duration; write 30m or 336h", i+1, s.Later)
		}
	}
	used := n.body.features(p)
	if n.body == nil { // it calls a function of the project, which may use any feature
		used = addFeature(n.servedFeatures(p), featureOf(p, tool))
	}
	switch {
	case n.feature != "" || tool == n.ownTool() && later == 0:
	case len(used) == 0:
		return 0, fmt.Errorf("example %d: tool and later need an event log, and the body uses no feature; use one, such as app.Ask(ctx, posts.Get{…}), or omit tool and later", i+1)
	case tool != n.ownTool() && n.kind != "tool" && featureOf(p, tool) == "":
		return 0, fmt.Errorf("example %d: %s is not a tool of a feature; the test of a %s serves only features", i+1, tool, n.kind)
	}
	return later, nil
}

func (s Step) check(i int) (gen.Example, error) {
	example := gen.Example{Name: cmp.Or(s.Name, "example "+strconv.Itoa(i+1)), Output: s.Output, Error: s.Error}
	if _, err := gen.ParseDescription(example.Name); err != nil || strings.ContainsAny(example.Name, "/#\\") {
		return example, fmt.Errorf("invalid example name %q; use a few plain words", example.Name)
	}
	if s.Output != nil && s.Error != "" {
		return example, fmt.Errorf("example %q has an output and an error; send only one of them", example.Name)
	}
	if s.Input == nil {
		s.Input = map[string]json.RawMessage{}
	}
	var err error
	example.Input, err = strictjson.Marshal(s.Input)
	return example, err
}

// A row encodes the input and output of an example as Go.
type row func(gen.Example) (input, output *jen.Statement, err error)

// exampleTest returns a table test of the examples. own encodes an example of the component itself, and
// check is the call that checks it: client.CheckTool(t, "add", $example).
func (n component) exampleTest(p gen.Project, check string, own row) (gen.GoFile, error) {
	all, err := n.steps(p, own)
	if err != nil {
		return gen.GoFile{}, err
	}
	mcptest := p.Import("core/mcptest")
	isOther := func(s step) bool { return s.tool != n.ownTool() || s.later > 0 }
	return n.test(p, func(file gen.GoFile) string {
		switch {
		case !slices.ContainsFunc(all, isOther):
			return exampleLoop(file, mcptest, all, strings.ReplaceAll(check, "$example", "example"))
		case n.ownTool() != "":
			return stepLoop(file, mcptest, all, checkStepTool, "")
		}
		check := strings.ReplaceAll(check, "$example", "step.Example")
		return stepLoop(file, mcptest, all, "if step.tool == \"\" {\n"+check+"\n} else {\n"+checkStepTool+"\n}", "")
	}), nil
}

// steps returns the examples as calls. own may be nil if none calls the component itself.
func (n component) steps(p gen.Project, own row) ([]step, error) {
	var all []step
	for i, e := range n.examples {
		encode := own
		if n.tools[i] != n.ownTool() {
			encode = n.toolRow(p, n.tools[i])
		}
		input, output, err := encode(e)
		if err != nil {
			return nil, err
		}
		all = append(all, step{tool: n.tools[i], name: e.Name, input: input, output: output, error: e.Error, later: n.later[i]})
	}
	return all, nil
}

func (n component) toolRow(p gen.Project, tool string) row {
	return func(e gen.Example) (input, output *jen.Statement, err error) {
		if e.Output != nil {
			text, err := compact(e.Output)
			if err != nil {
				return nil, nil, err
			}
			output = rawLit(text)
			if value, ok := n.output.literal(e.Output); ok && tool == n.wire {
				output = value
			}
		}
		return n.argument(p, tool, e.Input), output, nil
	}
}

// A step is a call in a test, with the expected result.
type step struct {
	tool, name string
	input      *jen.Statement
	output     *jen.Statement // nil accepts any output
	error      string
	later      time.Duration // advance of the clock before the call
}

func (s step) example(file gen.GoFile) string {
	text := fmt.Sprintf("{Name: %q, Input: %s", s.name, file.Code(s.input))
	if s.output != nil {
		text += ", Output: " + file.Code(s.output)
	}
	if s.error != "" {
		text += ", Error: " + gen.RawString(s.error)
	}
	return text + "}"
}

const checkStepTool = "client.CheckTool(t, step.tool, step.Example)"

// stepLoop returns a loop over calls of several tools. check is the statement that makes a call. The
// statements then follow each call, and each advance of the clock.
func stepLoop(file gen.GoFile, mcptest string, all []step, check, then string) string {
	example, rows, field, advance := file.Ref(mcptest, "Example"), "", "", ""
	if slices.ContainsFunc(all, func(s step) bool { return s.later > 0 }) {
		field = "later " + file.Ref("time", "Duration") + " // advance of the clock\n"
		advance = "client.Advance(step.later)\n"
		if then != "" {
			advance = "if step.later > 0 {\nclient.Advance(step.later)" + then + "\n}\n"
		}
	}
	for _, s := range all {
		later := ""
		if field != "" {
			later = ", 0"
		}
		if s.later > 0 {
			later = ", " + file.Code(gen.Duration(s.later))
		}
		rows += fmt.Sprintf("{%q%s, %s%s},\n", s.tool, later, example, s.example(file))
	}
	return `for _, step := range []struct {
		tool string
		` + field + example + `
	}{
		` + rows + `} {
		t.Run(step.Name, func(t *testing.T) {
			` + advance + check + then + `
		})
	}`
}

// exampleLoop returns a loop over calls of one component: client.CheckTool(t, "add", example).
func exampleLoop(file gen.GoFile, mcptest string, all []step, check string) string {
	rows := ""
	for _, s := range all {
		rows += s.example(file) + ",\n"
	}
	return `for _, example := range []` + file.Ref(mcptest, "Example") + `{
		` + rows + `} {
		t.Run(example.Name, func(t *testing.T) {
			` + check + `
		})
	}`
}
