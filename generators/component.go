package generators

import (
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// A component describes what a generator creates: a tool, resource, prompt, command, query, worker
// or generator.
type component struct {
	project     gen.Project
	kind, dir   string
	name        gen.Name
	wire        string // name that clients use
	goName      string // name of the function or type
	description string // doc comment after goName
	directives  []string

	feature string   // empty for a component outside of features
	body    *body    // nil if the user writes it later
	wraps   bool     // it calls a function of the project, and has no body
	check   *body    // of a command; may be nil
	given   []step   // calls that set up its test
	steps   []step   // calls with expected results
	others  []string // further features that its test serves

	undescribed []string // input fields without a description

	input, output structure               // the name is empty if the type is unknown
	form          structure               // that the tool asks the user for; the name is empty if it does not ask
	features      map[string]*gen.Feature // cache of Project.Feature, by name
}

// A request holds the inputs that generators have in common.
type request struct {
	name, description string
	fields, output    []string
	Implementation
	gen.Directives
}

// newComponent returns the component that a request asks for. Its name is FEATURE/NAME, unless its
// kind has a fixed folder.
func newComponent(p gen.Project, kind string, in request) (component, error) {
	place, isFixed := derive.PlaceOf(derive.Kind(kind))
	n := component{project: p, kind: kind, dir: place.Dir, features: map[string]*gen.Feature{}}
	text := in.name
	if !isFixed {
		feature, rest, ok := strings.Cut(text, "/")
		if !ok || rest == "" || feature == "" || strings.Contains(rest, "/") {
			return n, fmt.Errorf("invalid %s name %q: write FEATURE/NAME, such as posts/publish", kind, text)
		}
		if err := checkFeature(p, feature); err != nil {
			return n, err
		}
		if close := terminal.Closest(feature, p.Features()); close != "" && close != feature && !p.HasPackage(featureDir(feature)) {
			return n, fmt.Errorf("feature %s does not exist; did you mean %s/%s? If not, first run %s", feature, close, rest, p.Call("generate", "kind", "feature", "name", feature))
		}
		n.dir, n.feature, text = featureDir(feature), feature, rest
	}
	var err error
	if n.name, err = gen.ParseName(text, p.Initialisms...); err != nil {
		return n, err
	}
	n.wire, n.goName = n.name.Wire(), n.name.Go()
	if n.feature != "" {
		n.wire = n.feature + "_" + n.wire
	}
	switch kind {
	case "worker": // no client sees it
		n.wire = n.label()
	case "generator":
		err = gen.CheckGeneratorName(n.wire)
	default:
		err = gen.CheckWireName(n.wire, p.Name)
	}
	switch {
	case err != nil:
		return n, err
	case n.isReserved():
		return n, fmt.Errorf("the Go name %s, from %q, is reserved in %s; choose another name", n.goName, text, n.dir)
	case !n.name.IsExact() && n.feature != "":
		return n, fmt.Errorf("the Go name %s of %q splits into other words; choose a name with longer words", n.goName, text)
	case !n.name.IsExact():
		n.directives = append(n.directives, "name "+n.wire)
	}
	n.description, err = gen.ParseDescription(in.description)
	return n, errors.Join(err, n.setImplementation(in.Implementation), n.setFields(in.fields, in.output), n.addDirectives(in.Directives))
}

// addDirectives adds the directives of a request. In a feature, they are in the doc comment of the
// type.
func (n *component) addDirectives(d gen.Directives) error {
	err := d.Each(func(name, value string, isSet bool) {
		if isSet {
			n.directives = append(n.directives, strings.TrimSpace(name+" "+value))
		}
	})
	if n.feature != "" {
		n.input.directives = n.directives
	}
	return err
}

// setFields sets the input and output types. In a feature, the input is the component's own type.
func (n *component) setFields(input, output []string) (err error) {
	code := gen.StructCode{Prefix: n.goName, Logged: n.feature != ""}
	n.input = structure{StructCode: code, name: n.goName + "Input", about: n.goName + "Input is the input of " + n.wire + "."}
	code.Prefix += "Output"
	n.output = structure{StructCode: code, name: n.goName + "Output", about: n.goName + "Output is the output of " + n.label() + "."}
	if n.feature != "" {
		n.input.name, n.input.about = n.goName, gen.DocSentence(n.goName, n.description)
	}
	if n.input.fields, err = n.project.ParseFields(n.dir, input); err == nil {
		n.output.fields, err = n.project.ParseFields(n.dir, output)
	}
	for _, f := range n.output.fields {
		if f.Default != nil && err == nil {
			err = fmt.Errorf("field %q of the output has a default, which only inputs can have; set it in the body", f.Name)
		}
	}
	if err != nil {
		return err
	}
	n.useDeclaredEnums(n.input.fields, n.output.fields)
	if len(output) == 0 && n.kind != "command" {
		n.output.fields = []gen.Field{{Name: "result", Go: "Result", Type: gen.FieldType{Kind: gen.KindString}}}
	}
	for _, f := range n.input.fields {
		if f.Description == "" && n.kind != "worker" {
			n.undescribed = append(n.undescribed, f.Name)
		}
	}
	return nil
}

// useDeclaredEnums replaces enums with string types of the feature that have the same values.
func (n component) useDeclaredEnums(lists ...[]gen.Field) {
	known := n.knownFeature(n.feature)
	if known == nil {
		return
	}
	for _, fields := range lists {
		for i := range fields {
			t := &fields[i].Type
			for t.Elem != nil {
				t = t.Elem
			}
			for _, name := range slices.Sorted(maps.Keys(known.Strings)) {
				if t.Kind == gen.KindEnum && ast.IsExported(name) && t.HasValues(known.Strings[name]) {
					*t = gen.FieldType{Kind: gen.KindGo, Name: name, Values: t.Values}
				}
			}
		}
	}
}

// isReserved reports whether petrock uses the name of the component for something else.
func (n component) isReserved() bool {
	if n.kind == "generator" {
		own := append(gen.Names(All()), "version", "component", "all")
		return slices.Contains(own, strings.ReplaceAll(n.wire, "_", ""))
	}
	place, _ := derive.PlaceAt(n.dir)
	return place.IsReserved(n.goName)
}

// file returns the empty file of the component. If its package is new, it has a package comment,
// except in a feature, where state.go has it.
func (n component) file() gen.GoFile {
	file := NewFile(n.project, n.dir)
	if about := packageComments[n.kind]; about != "" && n.project.Packages[n.dir] == "" {
		file.PackageComment("// Package " + n.project.Package(n.dir) + " " + about)
	}
	return file
}

var packageComments = map[string]string{
	"tool":      "holds the functions that models call as tools.",
	"resource":  "holds the data that clients read by URI.",
	"prompt":    "holds the message templates that users choose in their client.",
	"generator": "holds the project's own generators.",
}

// toolFile returns the file of a tool, command or query, with its types.
func (n component) toolFile() gen.GoFile {
	file := n.file()
	n.input.write(file)
	n.output.write(file)
	if n.form.name != "" {
		n.form.write(file)
	}
	return file
}

// writeFunction adds the function. Without a body, the function returns zero and an error that
// names its file.
func (n component) writeFunction(file gen.GoFile, params, result, zero string) {
	writeDoc(file, gen.DocSentence(n.goName, n.description), n.directives)
	file.Text("func " + n.goName + "(" + params + ") (" + result + ", error) {\n" + n.statements(file, zero) + "\n}")
}

// test returns the test file of the component. The test starts with a client of its package.
func (n component) test(body func(gen.GoFile) string) gen.GoFile {
	file := NewTestFile(n.project, n.dir)
	file.Text("func Test"+n.goName+"(t *testing.T) {\n"+n.testSetup(file)+body(file)+"\n}", "testing")
	return file
}

func (n component) path() string { return path.Join(n.dir, n.name.File(n.kind)) }

func (n component) testPath() string { return strings.TrimSuffix(n.path(), ".go") + "_test.go" }

// draft returns the draft of the component, including its feature if that is new. It returns err if
// err is not nil.
func (n component) draft(file, test gen.GoFile, err error) (gen.Draft, error) {
	if err != nil {
		return gen.Draft{}, err
	}
	draft := gen.Draft{Kind: n.kind, Name: n.wire}
	if len(n.steps)+len(n.given) > 0 {
		draft.Trial.Test = "Test" + n.goName
	}
	for _, s := range n.steps {
		draft.Trial.Examples = append(draft.Trial.Examples, s.Example)
	}
	if draft.Files, err = renderFiles("", source{n.path(), file}, source{n.testPath(), test}); err != nil {
		return gen.Draft{}, err
	}
	if n.body != nil {
		draft.Files[0].AddImports, draft.Files[0].Imports = true, n.body.imports
		if n.check != nil {
			draft.Files[0].Imports = slices.Concat(n.body.imports, n.check.imports)
		}
	}
	switch {
	case !n.isWritten():
		draft.Next = append(draft.Next, fmt.Sprintf("Write %s in %s, and its test in %s.", n.goName, n.path(), n.testPath()))
	case len(n.steps) == 0:
		draft.Next = append(draft.Next, fmt.Sprintf("Write the test of %s in %s.", n.wire, n.testPath()))
	}
	if len(n.undescribed) > 0 && !slices.Contains(n.directives, "internal") {
		draft.Next = append(draft.Next, fmt.Sprintf("%s read the comments of fields. These fields have none in %s: %s.", gen.Capitalize(gen.ChosenBy(n.kind)), n.path(), strings.Join(n.undescribed, ", ")))
	}
	if n.feature == "" || n.project.Packages[n.dir] != "" {
		return draft, nil
	}
	if n.goName == "Replay" {
		return gen.Draft{}, fmt.Errorf("%s %q: a new feature already has a test named TestReplay; choose another name", n.kind, n.label())
	}
	files, err := plainFeature(n.project, n.feature, nil)
	draft.Files = append(draft.Files, files...)
	draft.Notices = append(draft.Notices, "The feature "+n.feature+" is new.")
	draft.Next = append([]string{fmt.Sprintf("Declare the state of the feature %s in %s.", n.feature, path.Join(n.dir, "state.go"))}, draft.Next...)
	return draft, err
}

// A body holds the statements of a function that the caller sent.
type body struct {
	imports []gen.Import // import declarations before the statements
	text    string
}

// parseBody is [gen.ParseBody] for the body of a component.
func parseBody(field, text string) (*body, error) {
	imports, statements, err := gen.ParseBody(field, text)
	return &body{imports, statements}, err
}

// An Implementation is the code of a component with its examples, as the caller sends them.
type Implementation struct {
	Body     string     `json:"body,omitempty" schema:"format=go"` // Go statements, such as: return SendMailOutput{Result: in.To}, nil. In scope: ctx, in. Optional fields are pointers. Imports are added
	Examples []gen.Step `json:"examples,omitempty"`                // Test cases. output must match exactly, error is a substring; without either, any success passes. If the body uses a feature: as for a command
}

// A TextImplementation is an Implementation of a component that returns text.
type TextImplementation struct {
	Body     string     `json:"body,omitempty" schema:"format=go"` // Go statements that return (string, error); else as for a tool
	Examples []gen.Step `json:"examples,omitempty"`                // As for a tool
}

func (n component) isWritten() bool { return n.body != nil || n.wraps }

// statements returns the body of the function or, without one, a statement that returns zero and an
// error that names the file.
func (n component) statements(file gen.GoFile, zero string) string {
	ask := ""
	if n.form.name != "" {
		ask = fmt.Sprintf(`answer, err := %s[%s](ctx, %q, mcp.Key(%q))
		if err != nil { // mcp.ErrDeclined, mcp.ErrCancelled, or the client cannot ask
			return %s, err
		}
		`, file.Ref(n.project.Import("core/mcp"), "AskFor"), n.form.name, n.form.fields[0].Description, formKey, zero)
	}
	if n.body != nil {
		return ask + n.body.text
	}
	if ask != "" {
		ask += "_ = answer\n"
	}
	return ask + "return " + zero + ", " + n.unwrittenError(file)
}

func (n component) unwrittenError(file gen.GoFile) string {
	file.Import("errors")
	return fmt.Sprintf("errors.New(%q)", n.label()+" is not written yet: write it in "+n.path())
}
