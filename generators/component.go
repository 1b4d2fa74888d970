package generators

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/gen"
)

// named is a component in the making, under all its names.
type named struct {
	kind, dir   string
	name        gen.Name
	wire        string // what clients call it
	goName      string // its function
	description string // what it is for, after the name of the function
	directives  []string

	body     *body         // nil if it is left to be written
	examples []gen.Example // of what it returns

	feature string   // that it is part of; empty if it is of none
	check   *body    // of a command, nil if it refuses nothing
	given   []call   // what its test begins with
	tools   []string // that the examples call
	others  []string // features that its test needs beside those of what it calls

	input, output shape                   // types of a tool; without a name if they are not known
	features      map[string]*gen.Feature // that its test calls, by name
}

func names(p gen.Project, kind, dir, text, description string) (named, error) {
	name, err := gen.ParseName(text)
	if err != nil {
		return named{}, err
	}
	n := named{kind: kind, dir: dir, name: name, wire: name.Wire(), goName: name.Go()}
	if err := gen.CheckWireName(n.wire, p.Name); err != nil {
		return named{}, err
	}
	switch n.goName {
	case "New", "Register", "Tools", "Resources", "Prompts":
		return named{}, fmt.Errorf("the name %q would make a function %s, which is the name of something else here; take another", text, n.goName)
	}
	if n.description, err = gen.Sentence(description); err != nil {
		return named{}, err
	}
	if !name.Exact() {
		n.directives = append(n.directives, "name "+n.wire)
	}
	return n, nil
}

func (n named) about() string {
	if n.description == "" {
		text := fmt.Sprintf("is the %s %s. Say here what it is for", n.kind, n.called())
		if n.kind == "worker" { // of which no model is told
			return text + "."
		}
		return text + ": models read it."
	}
	first, size := utf8.DecodeRuneInString(n.description)
	text := string(unicode.ToLower(first)) + n.description[size:]
	if next, _ := utf8.DecodeRuneInString(n.description[size:]); unicode.IsUpper(next) { // an abbreviation
		text = n.description
	}
	return text
}

// where says where the component is to be written, as its function answers until then.
func (n named) where() string { return "not written yet: write it in " + n.path() }

func (n named) file(p gen.Project) gen.GoFile {
	return gen.NewGoFile(p.Import(n.dir), p.Package(n.dir))
}

// function adds the function itself. Without a body it returns zero, and an error that says where
// to write it.
func (n named) function(file gen.GoFile, params, result, zero string) {
	file.Comment("// " + n.goName + " " + n.about())
	direct(file, n.directives)
	file.Text("func " + n.goName + "(" + params + ") (" + result + ", error) {\n" + n.block(file, zero) + "\n}")
}

// test is the test file of the component. The test begins with a client of what the package offers.
func (n named) test(p gen.Project, body func(gen.GoFile) string) gen.GoFile {
	imported := p.Import(n.dir)
	file := gen.NewGoFile(imported+"_test", p.Package(n.dir)+"_test")
	file.ImportName(p.Import("core/mcptest"), "mcptest")
	begin := ""
	if n.feature != "" {
		begin = n.serve(p, file)
	} else {
		file.ImportName(imported, p.Package(n.dir))
		begin = fmt.Sprintf("client := %s(t, %s)\n", file.Ref(p.Import("core/mcptest"), "Serve"), file.Ref(imported, "Register"))
	}
	file.Text("func Test"+n.goName+"(t *testing.T) {\n"+begin+body(file)+"\n}", "testing")
	return file
}

func (n named) path() string { return path.Join(n.dir, n.name.File(n.kind)) }

func (n named) testPath() string { return strings.TrimSuffix(n.path(), ".go") + "_test.go" }

// draft is the draft of the component, with its feature if that is new. An err is returned as it
// is.
func (n named) draft(p gen.Project, file, test gen.GoFile, err error) (gen.Draft, error) {
	if err != nil {
		return gen.Draft{}, err
	}
	draft := gen.Draft{Kind: n.kind, Name: n.wire, Trial: n.trial()}
	if draft.Files, err = rendered("", source{n.path(), file}, source{n.testPath(), test}); err != nil {
		return gen.Draft{}, err
	}
	if n.body != nil {
		draft.Files[0].Seek, draft.Files[0].Imports = true, n.body.imports
		if n.check != nil {
			for _, i := range n.check.imports {
				if !slices.Contains(n.body.imports, i) {
					draft.Files[0].Imports = append(draft.Files[0].Imports, i)
				}
			}
		}
	}
	gives := "returns"
	if n.kind == "worker" {
		gives = "does"
	}
	switch {
	case !n.isWritten():
		draft.Next = append(draft.Next, fmt.Sprintf("Write %s in %s, and say in its test, %s, what it %s.", n.goName, n.path(), n.testPath(), gives))
	case len(n.examples) == 0:
		draft.Next = append(draft.Next, fmt.Sprintf("Say in its test, %s, what %s %s.", n.testPath(), n.wire, gives))
	}
	if n.description == "" && n.kind != "worker" {
		draft.Next = append(draft.Next, fmt.Sprintf("Say in the comment of %s what it is for, and derive again (sync, or build): models choose by it.", n.goName))
	}
	draft.Next = append(draft.Next, fmt.Sprintf("go test ./%s", n.dir))
	if n.feature == "" || p.Packages[n.dir] != "" {
		return draft, nil
	}
	if n.goName == "Replay" {
		return gen.Draft{}, fmt.Errorf("the test of a %s %q would be called TestReplay, as that of the log of the new feature is; take another name", n.kind, n.called())
	}
	files, err := plainFeature(p, n.feature)
	draft.Files = append(draft.Files, files...)
	draft.Notices = append(draft.Notices, createsFeature(p, n.feature))
	draft.Next = append([]string{fmt.Sprintf("Declare the state of the feature %s in %s.", n.feature, path.Join(n.dir, "state.go"))}, draft.Next...)
	return draft, err
}

// Written is what a caller has written of a component already.
type Written struct {
	Body     string    `json:"body,omitempty" schema:"format=go"` // Go statements of the function, such as: return SendMailOutput{Result: in.To}, nil. ctx and in are there, optional fields are pointers, imports are added
	Examples []Example `json:"examples,omitempty"`                // Its test, which has to pass before anything is written. output is exact, error a part of one; without either, any success will do
}

// WrittenText is the same of a component that returns text.
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

func (n named) isWritten() bool { return n.body != nil }

// block is the body of the function: what was sent, or an error that says where to write it.
func (n named) block(file gen.GoFile, zero string) string {
	if n.body != nil {
		return n.body.text
	}
	return "return " + zero + ", " + n.unwritten(file)
}

func (n named) unwritten(file gen.GoFile) string {
	file.Use("errors")
	return fmt.Sprintf("errors.New(%q)", n.called()+" is "+n.where())
}

// exampleTest is the test of a component that has examples: a table of them. row is what the table has of an
// example, and check is how it is checked.
func (n named) exampleTest(p gen.Project, check string, row func(gen.Example) (input, output *jen.Statement, err error)) (gen.GoFile, error) {
	var all []step
	for _, e := range n.examples {
		input, output, err := row(e)
		if err != nil {
			return gen.GoFile{}, err
		}
		all = append(all, step{name: e.Name, input: input, output: output, error: e.Error})
	}
	return n.test(p, func(file gen.GoFile) string { return checks(file, p.Import("core/mcptest"), all, check) }), nil
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
		output = rawLit(text)
	}
	return rawLit(string(e.Input)), output, nil
}

// singular is a noun for one of what several are called, if that is to be told: posts are of one post.
func singular(plural string) (string, bool) {
	switch plural {
	case "people":
		return "person", true
	case "men", "women":
		return strings.TrimSuffix(plural, "en") + "an", true
	case "children":
		return "child", true
	case "mice":
		return "mouse", true
	case "feet":
		return "foot", true
	case "lives", "knives", "wives":
		return strings.TrimSuffix(plural, "ves") + "fe", true
	case "leaves", "shelves", "halves", "wolves":
		return strings.TrimSuffix(plural, "ves") + "f", true
	case "movies", "cookies", "ties", "pies", "zombies", "selfies", "rookies":
		return strings.TrimSuffix(plural, "s"), true
	case "quizzes":
		return "quiz", true
	case "statuses", "buses", "bonuses", "viruses", "aliases", "gases", "heroes", "potatoes", "tomatoes", "echoes", "vetoes":
		return strings.TrimSuffix(plural, "es"), true
	case "caches", "aches", "headaches", "niches", "avalanches":
		return strings.TrimSuffix(plural, "s"), true
	case "axes", "news", "lens", "series", "species", "always", "physics", "mathematics", "analytics", "logistics", "sales", "goods", "settings", "chaos":
		return "", false
	}
	return regular(plural)
}

func regular(plural string) (string, bool) {
	stem, ok := strings.CutSuffix(plural, "s")
	if !ok || len(stem) < 2 {
		return "", false
	}
	for _, ending := range []string{"s", "u", "i", "a"} { // address, status, analysis, canvas are one already
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
	switch {
	case strings.HasPrefix(noun, "user"), strings.HasPrefix(noun, "uni"), strings.HasPrefix(noun, "use"), strings.HasPrefix(noun, "euro"), strings.HasPrefix(noun, "one"):
		return "a"
	case strings.HasPrefix(noun, "hour"):
		return "an"
	case strings.ContainsAny(noun[:1], "aeiouAEIOU"):
		return "an"
	}
	return "a"
}
