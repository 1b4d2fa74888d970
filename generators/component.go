package generators

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// A component describes what a generator creates: a tool, resource, prompt, command, query, worker or
// generator.
type component struct {
	kind, dir   string
	name        gen.Name
	wire        string // name that clients use
	goName      string // name of the function or type
	description string // doc comment after goName
	directives  []string

	body     *body         // nil if the user writes it later
	examples []gen.Example // expected results

	feature string          // empty for a component outside of features
	check   *body           // of a command; may be nil
	given   []call          // calls that set up its test
	tools   []string        // tools that the examples call; empty for a resource or prompt itself
	later   []time.Duration // advances of the clock before these calls
	others  []string        // further features that its test serves

	undescribed []string // names of input fields without a description

	input, output shape                   // types of a tool; the name is empty if unknown
	features      map[string]*gen.Feature // cache of Project.Feature, by name
}

func newComponent(p gen.Project, kind, dir, text, description string, in Implementation) (component, error) {
	name, err := gen.ParseName(text)
	if err != nil {
		return component{}, err
	}
	n := component{kind: kind, dir: dir, name: name, wire: name.Wire(), goName: name.Go(), features: map[string]*gen.Feature{}}
	if err := gen.CheckWireName(n.wire, p.Name); err != nil {
		return component{}, err
	}
	switch n.goName {
	case "New", "Register", "Tools", "Resources", "Prompts":
		return component{}, fmt.Errorf("the function name %s, from %q, is reserved; choose another name", n.goName, text)
	}
	if n.description, err = gen.ParseDescription(description); err != nil {
		return component{}, err
	}
	if !name.IsExact() {
		n.directives = append(n.directives, "name "+n.wire)
	}
	return n, n.setImplementation(p, in, false)
}

// about returns the doc comment after the name: the description, or a placeholder.
func (n component) about() string {
	if n.description == "" {
		text := fmt.Sprintf("is the %s %s. Describe it here", n.kind, n.label())
		if n.kind == "worker" { // clients do not see workers
			return text + "."
		}
		return text + ": models read this comment."
	}
	return gen.DocSentence(n.description)
}

// unwrittenMessage is part of the error that the component returns until it is written.
func (n component) unwrittenMessage() string { return "not written yet: write it in " + n.path() }

func (n component) file(p gen.Project) gen.GoFile {
	return gen.NewGoFile(p.Import(n.dir), p.Package(n.dir))
}

// writeFunction adds the function. Without a body it returns zero and an error that names its file.
func (n component) writeFunction(file gen.GoFile, params, result, zero string) {
	file.Comment("// " + n.goName + " " + n.about())
	writeDirectives(file, n.directives)
	file.Text("func " + n.goName + "(" + params + ") (" + result + ", error) {\n" + n.statements(file, zero) + "\n}")
}

// test returns the test file of the component. The test starts with a client of its package.
func (n component) test(p gen.Project, body func(gen.GoFile) string) gen.GoFile {
	file := gen.NewGoFile(p.Import(n.dir)+"_test", p.Package(n.dir)+"_test")
	file.ImportName(p.Import("core/mcptest"), "mcptest")
	file.Text("func Test"+n.goName+"(t *testing.T) {\n"+n.testSetup(p, file)+body(file)+"\n}", "testing")
	return file
}

func (n component) path() string { return path.Join(n.dir, n.name.File(n.kind)) }

func (n component) testPath() string { return strings.TrimSuffix(n.path(), ".go") + "_test.go" }

// draft returns the draft of the component, including its feature if that is new. It returns err if
// err is not nil.
func (n component) draft(p gen.Project, file, test gen.GoFile, err error) (gen.Draft, error) {
	if err != nil {
		return gen.Draft{}, err
	}
	draft := gen.Draft{Kind: n.kind, Name: n.wire}
	if len(n.examples)+len(n.given) > 0 {
		draft.Trial = gen.Trial{Test: "Test" + n.goName, Examples: n.examples}
	}
	if draft.Files, err = renderFiles("", source{n.path(), file}, source{n.testPath(), test}); err != nil {
		return gen.Draft{}, err
	}
	if n.body != nil {
		draft.Files[0].AddImports, draft.Files[0].Imports = true, n.body.imports
		if n.check != nil {
			for _, i := range n.check.imports {
				if !slices.Contains(n.body.imports, i) {
					draft.Files[0].Imports = append(draft.Files[0].Imports, i)
				}
			}
		}
	}
	switch {
	case !n.isWritten():
		draft.Next = append(draft.Next, fmt.Sprintf("Write %s in %s, and its test in %s.", n.goName, n.path(), n.testPath()))
	case len(n.examples)+len(n.given) == 0:
		draft.Next = append(draft.Next, fmt.Sprintf("Write the test of %s in %s.", n.wire, n.testPath()))
	case len(n.examples) == 0:
		draft.Next = append(draft.Next, fmt.Sprintf("Add checks to the test of %s in %s.", n.wire, n.testPath()))
	}
	if n.description == "" && n.kind != "worker" || len(n.undescribed) > 0 {
		draft.Next = append(draft.Next, n.describeStep())
	}
	draft.Next = append(draft.Next, fmt.Sprintf("go test ./%s", n.dir))
	if n.feature == "" || p.Packages[n.dir] != "" {
		return draft, nil
	}
	if n.goName == "Replay" {
		return gen.Draft{}, fmt.Errorf("%s %q: a new feature already has a test named TestReplay; choose another name", n.kind, n.label())
	}
	files, err := plainFeature(p, n.feature)
	draft.Files = append(draft.Files, files...)
	draft.Notices = append(draft.Notices, newFeatureNotice(p, n.feature))
	draft.Next = append([]string{fmt.Sprintf("Declare the state of the feature %s in %s.", n.feature, path.Join(n.dir, "state.go"))}, draft.Next...)
	return draft, err
}

// describeStep asks for the comments that clients see as descriptions.
func (n component) describeStep() string {
	var missing []string
	if n.description == "" {
		missing = append(missing, "the doc comment of "+n.goName)
	}
	if len(n.undescribed) > 0 {
		missing = append(missing, "comments for "+strings.Join(n.undescribed, ", "))
	}
	use := "models read comments to choose and call tools"
	if n.kind == "resource" || n.kind == "prompt" {
		use = "clients show comments as descriptions"
	}
	return fmt.Sprintf("Write %s: %s. Then run petrock sync (over MCP: build).", strings.Join(missing, " and "), use)
}

func (n *component) setUndescribed(fields []gen.Field) {
	for _, f := range fields {
		if f.Description == "" {
			n.undescribed = append(n.undescribed, f.Name)
		}
	}
}

// An Implementation is the code of a component with its examples, as the caller sends them.
type Implementation struct {
	Body     string `json:"body,omitempty" schema:"format=go"` // Go statements, such as: return SendMailOutput{Result: in.To}, nil. In scope: ctx, in. Optional fields are pointers. Imports are added
	Examples []Step `json:"examples,omitempty"`                // Test cases. output must match exactly, error is a substring; without either, any success passes. If the body uses a feature: as for a command
}

// A TextImplementation is an Implementation of a component that returns text.
type TextImplementation struct {
	Body     string `json:"body,omitempty" schema:"format=go"` // Go statements that return (string, error); else as for a tool
	Examples []Step `json:"examples,omitempty"`                // Test cases, as for a tool
}

func (n component) isWritten() bool { return n.body != nil }

// statements returns the body of the function. Without one, it returns an error that names its file.
func (n component) statements(file gen.GoFile, zero string) string {
	if n.body != nil {
		return n.body.text
	}
	return "return " + zero + ", " + n.unwrittenError(file)
}

func (n component) unwrittenError(file gen.GoFile) string {
	file.Use("errors")
	return fmt.Sprintf("errors.New(%q)", n.label()+" is "+n.unwrittenMessage())
}

func compact(raw json.RawMessage) (string, error) {
	if raw == nil {
		return "", nil
	}
	var out bytes.Buffer
	err := json.Compact(&out, raw)
	return out.String(), err
}

func textRow(e gen.Example) (input, output *jen.Statement, err error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(e.Input, &given); err != nil {
		return nil, nil, err
	}
	for name, value := range given {
		if len(value) == 0 || value[0] != '"' {
			return nil, nil, fmt.Errorf("example %q: the value of %s must be a string, not %s", e.Name, name, value)
		}
	}
	if e.Output != nil {
		var text string
		if json.Unmarshal(e.Output, &text) != nil {
			return nil, nil, fmt.Errorf("example %q: the output must be a string, not %s", e.Name, e.Output)
		}
		if text == "" {
			return nil, nil, fmt.Errorf("example %q: an empty output accepts any output; omit it, and check the result in the test", e.Name)
		}
		output = rawLit(text)
	}
	return rawLit(string(e.Input)), output, nil
}

// singular returns the singular of a noun, and false if it is unknown.
func singular(plural string) (string, bool) {
	const uncountable = "axes news lens series species always physics mathematics analytics logistics sales goods settings chaos"
	if slices.Contains(strings.Fields(uncountable), plural) {
		return "", false
	}
	for _, rule := range []struct{ words, suffix, ending string }{
		{"people", "ople", "rson"},
		{"men women", "en", "an"},
		{"children", "ren", ""},
		{"mice", "ice", "ouse"},
		{"feet", "eet", "oot"},
		{"lives knives wives", "ves", "fe"},
		{"leaves shelves halves wolves", "ves", "f"},
		{"movies cookies ties pies zombies selfies rookies caches aches headaches niches avalanches", "s", ""},
		{"quizzes", "zes", ""},
		{"statuses buses bonuses viruses aliases gases heroes potatoes tomatoes echoes vetoes", "es", ""},
	} {
		if slices.Contains(strings.Fields(rule.words), plural) {
			return strings.TrimSuffix(plural, rule.suffix) + rule.ending, true
		}
	}
	stem, ok := strings.CutSuffix(plural, "s")
	if !ok || len(stem) < 2 {
		return "", false
	}
	for _, ending := range []string{"s", "u", "i", "a"} { // address, status, analysis, canvas are singular
		if strings.HasSuffix(stem, ending) && !strings.HasSuffix(stem, "ea") {
			return "", false
		}
	}
	if bare, ok := strings.CutSuffix(stem, "ie"); ok && len(bare) > 1 {
		return bare + "y", true
	}
	for _, ending := range []string{"sse", "xe", "zze", "che", "she"} { // addresses, boxes, buzzes, batches, dishes
		if strings.HasSuffix(stem, ending) {
			return strings.TrimSuffix(stem, "e"), true
		}
	}
	return stem, true
}

func article(noun string) string {
	startsWithVowel := regexp.MustCompile(`^(hour|[aeiouAEIOU])`).MatchString(noun)
	if startsWithVowel && !regexp.MustCompile(`^(uni|use|euro|one)`).MatchString(noun) {
		return "an"
	}
	return "a"
}
