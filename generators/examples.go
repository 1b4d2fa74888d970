package generators

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/gen"
)

// A step is a call in the test of a component, with the expected result.
type step struct {
	gen.Example
	tool          string        // empty for a resource or prompt itself
	later         time.Duration // advance of the clock before the call
	input, output *jen.Statement
	answers       map[string]json.RawMessage // of the user, by key
}

// setImplementation sets body and examples. Leading calls of other tools without an expected result
// set up the test.
func (n *component) setImplementation(in Implementation) error {
	if in.Body == "" && len(in.Examples) > 0 && !n.wraps {
		return errors.New("examples without body; send the statements of the function as body too")
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
	seen := map[string]bool{}
	for i, given := range in.Examples {
		s, err := n.parseStep(i, given)
		if err != nil {
			return err
		}
		if len(n.steps) == 0 && s.later == 0 && s.tool != n.ownTool() && s.Output == nil && s.Error == "" && given.Name == "" {
			n.given = append(n.given, s)
			continue
		}
		key := strings.ReplaceAll(strings.ToLower(s.Name), "_", " ")
		if seen[key] {
			return fmt.Errorf("two examples are named %q; give each its own name, or none", s.Name)
		}
		seen[key] = true
		n.steps = append(n.steps, s)
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

// parseStep checks an example. Outside of features, tests only serve the features that the body
// uses.
func (n component) parseStep(i int, given gen.Step) (s step, err error) {
	if s.Example, s.later, err = given.Parse(i + 1); err != nil {
		return s, err
	}
	fail := func(format string, args ...any) (step, error) {
		return s, fmt.Errorf("example %q: %s", s.Name, fmt.Sprintf(format, args...))
	}
	s.tool, s.answers = cmp.Or(given.Tool, n.ownTool()), given.Answers
	if s.tool == "" && len(s.answers) > 0 {
		return fail("only tools have answers; omit them")
	}
	if _, err := gen.ParseName(s.tool); err != nil && (given.Tool != "" || n.kind == "worker") {
		return fail("invalid tool name %q; use the name that clients use, such as posts_create", s.tool)
	}
	used := n.body.features(n.project, n.dir)
	if n.body == nil { // it calls a function of the project, which may use any feature
		used = addFeatures(n.servedFeatures(), featureOf(n.project, s.tool))
	}
	switch {
	case n.feature != "" || s.tool == n.ownTool() && s.later == 0:
	case len(used) == 0:
		return fail("tool and later need an event log, and the body uses no feature; use one, such as app.Query(ctx, posts.Get{…}), or omit tool and later")
	case s.tool != n.ownTool() && n.kind != "tool" && featureOf(n.project, s.tool) == "":
		return fail("%s is not a tool of a feature; the test of a %s serves only features", s.tool, n.kind)
	}
	return s, nil
}

// A row encodes the input and output of a step as Go.
type row func(step) (input, output *jen.Statement, err error)

// exampleTest returns a table test of the examples. own encodes an example of the component itself.
func (n component) exampleTest(own row) (gen.GoFile, error) {
	if err := n.encode(own); err != nil {
		return gen.GoFile{}, err
	}
	mcptest := n.project.Import("core/mcptest")
	isOther := func(s step) bool { return s.tool != n.ownTool() || s.later > 0 }
	return n.test(func(file gen.GoFile) string {
		switch {
		case !slices.ContainsFunc(n.steps, isOther):
			rows := ""
			for _, s := range n.steps {
				rows += n.code(s, file, mcptest) + ",\n"
			}
			return `for _, example := range []` + file.Ref(mcptest, "Example") + `{
				` + rows + `} {
				t.Run(example.Name, func(t *testing.T) {
					` + n.checkCall("example") + `
				})
			}`
		case n.ownTool() != "":
			return n.stepLoop(file, mcptest, n.steps, checkStepTool, "")
		}
		return n.stepLoop(file, mcptest, n.steps, "if step.tool == \"\" {\n"+n.checkCall("step.Example")+"\n} else {\n"+checkStepTool+"\n}", "")
	}), nil
}

// checkCall returns the call in a test that checks an example of the component.
func (n component) checkCall(example string) string {
	switch n.kind {
	case "resource":
		return "client.CheckResource(t, " + example + ")"
	case "prompt":
		return fmt.Sprintf("client.CheckPrompt(t, %q, %s)", n.wire, example)
	}
	return fmt.Sprintf("client.CheckTool(t, %q, %s)", n.wire, example)
}

// plainTest returns the test of a component without examples. If the component is not written yet,
// the test calls it with a sample, if it has one, and expects that error. Otherwise the function
// may have side effects, so the test makes a call that the server refuses.
func (n component) plainTest(sample *jen.Statement) gen.GoFile {
	if n.isWritten() && n.ownTool() == "" {
		return n.listedTest()
	}
	mcptest := n.project.Import("core/mcptest")
	return n.test(func(file gen.GoFile) string {
		comment := "// When " + n.goName + " is written, replace Error with the expected Output.\n"
		call := step{input: sample, Example: gen.Example{Error: "not written yet"}}
		switch {
		case n.form.name != "" && sample != nil:
			comment = "// The user declines, so this call does nothing. Add calls with Answers of type " + n.form.name + " and an Output.\n"
			call.Error, call.answers = "the user declined", map[string]json.RawMessage{formKey: json.RawMessage(`"decline"`)}
		case n.isWritten() || sample == nil:
			comment = "// The server refuses this call, so it does not run " + n.goName + ". Add calls with an Output.\n"
			call = step{input: gen.TextLit(`{"no_such_field":""}`), Example: gen.Example{Error: "no_such_field"}}
		}
		return comment + n.checkCall(file.Ref(mcptest, "Example")+n.code(call, file, mcptest))
	})
}

// listedTest returns a test that finds a resource or prompt in the list of the server.
func (n component) listedTest() gen.GoFile {
	list := gen.Capitalize(n.kind) + "s"
	if strings.Contains(strings.Join(n.directives, " "), "{") {
		list = "ResourceTemplates"
	}
	return n.test(func(file gen.GoFile) string {
		file.Import("slices")
		return fmt.Sprintf(`// %[3]s may have side effects, so this test does not run it. Add calls with client.Check%[4]s.
		var got []string
		for _, listed := range client.%[1]s() {
			got = append(got, listed.Name)
		}
		if want := %[2]q; !slices.Contains(got, want) {
			t.Errorf("client.%[1]s() = %%q, want %%q in it", got, want)
		}`, list, n.wire, n.goName, gen.Capitalize(n.kind))
	})
}

// sampleInput returns a valid input, or nil if it knows none: the fields of a Go type are unknown.
func (n component) sampleInput() *jen.Statement {
	for _, f := range n.input.fields {
		if !f.Optional && !f.Type.HasSample() {
			return nil
		}
	}
	object, err := encodeFields(n.input.fields, requiredSample)
	if err != nil {
		return nil
	}
	return n.input.shape(n.project.Import(n.dir)).argument(object)
}

// encode sets the input and output of the steps. own may be nil if none calls the component itself.
func (n component) encode(own row) (err error) {
	for i := range n.steps {
		s := &n.steps[i]
		encode := own
		if s.tool != n.ownTool() {
			encode = n.toolRow
		}
		if s.input, s.output, err = encode(*s); err != nil {
			return err
		}
	}
	return nil
}

// toolRow is the row of a tool call.
func (n component) toolRow(s step) (input, output *jen.Statement, err error) {
	if s.Output != nil {
		result := shape{}
		if s.tool == n.ownTool() {
			result = n.output.shape(n.project.Import(n.dir))
		}
		text, err := strictjson.Marshal(s.Output) // on one line
		if err != nil {
			return nil, nil, err
		}
		output = result.argument(text)
	}
	return n.inputOf(s.tool).argument(s.Input), output, nil
}

func textRow(e step) (input, output *jen.Statement, err error) {
	if e.Output != nil {
		var text string
		if json.Unmarshal(e.Output, &text) != nil {
			return nil, nil, fmt.Errorf("example %q: the output must be a string, not %s", e.Name, e.Output)
		}
		output = gen.TextLit(text)
	}
	return gen.TextLit(string(e.Input)), output, nil
}

// code returns a step as a literal of type mcptest.Example. mcptest is the path of that package.
func (n component) code(s step, file gen.GoFile, mcptest string) string {
	text := "{Input: " + file.Code(s.input)
	if s.Name != "" {
		text = fmt.Sprintf("{Name: %q, Input: %s", s.Name, file.Code(s.input))
	}
	if s.output != nil {
		text += ", Output: " + file.Code(s.output)
	} else if s.Error == "" {
		text += ", Output: " + file.Ref(mcptest, "AnyOutput") + "{}"
	}
	if s.Error != "" {
		text += ", Error: " + file.Code(gen.TextLit(s.Error))
	}
	if len(s.answers) > 0 {
		text += ", Answers: map[string]any{"
		for _, key := range slices.Sorted(maps.Keys(s.answers)) {
			text += fmt.Sprintf("%q: %s, ", key, n.answer(file, key, s.answers[key]))
		}
		text = strings.TrimSuffix(text, ", ") + "}"
	}
	return text + "}"
}

// answer returns an answer of the user as Go: a form, or the text of an action.
func (n component) answer(file gen.GoFile, key string, raw json.RawMessage) string {
	answer, isText := strictjson.Unquote(raw)
	form := n.form.shape(n.project.Import(n.dir))
	if isText || n.form.name == "" || key != formKey {
		form = shape{}
	}
	return file.Code(form.argument(json.RawMessage(cmp.Or(answer, string(raw)))))
}

const checkStepTool = "client.CheckTool(t, step.tool, step.Example)"

// stepLoop returns a loop over calls of several tools. check is the statement that makes a call.
// The statements then follow each call, and each advance of the clock.
func (n component) stepLoop(file gen.GoFile, mcptest string, all []step, check, then string) string {
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
		rows += fmt.Sprintf("{%q%s, %s%s},\n", s.tool, later, example, n.code(s, file, mcptest))
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
