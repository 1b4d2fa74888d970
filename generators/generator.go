package generators

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// GeneratorInput is the input of Generator.
type GeneratorInput struct {
	Name        string   `json:"name"`                                    // Kind that it creates, such as handler
	Fields      []string `json:"fields,omitempty"`                        // Further inputs, as for a tool
	Description string   `json:"description,omitempty"`                   // Such as: Creates a handler.
	Template    string   `json:"template,omitempty" schema:"format=text"` // Go text/template of the new file: {{.Go}} is SendMail, {{.Name}} send_mail, {{.Human}} send mail; also {{.Description}} and fields. Package and imports are added
	Test        string   `json:"test,omitempty" schema:"format=text"`     // Template of its test
	Path        string   `json:"path,omitempty"`                          // Such as docs/*.md; default: handlers/*.go
	Body        string   `json:"body,omitempty" schema:"format=go"`       // Instead of template: Go statements of func(p gen.Project, in HandlerInput) (gen.Draft, error)
}

// Generator creates a generator of the project's own, with a test, from a template or a body.
func Generator(p gen.Project, in GeneratorInput) (gen.Draft, error) {
	g, err := newGenerator(p, in)
	if err != nil {
		return gen.Draft{}, err
	}
	test, err := g.test()
	draft, err := g.draft(g.file(), test, err)
	if err != nil {
		return gen.Draft{}, err
	}
	if len(g.templates) > 0 {
		sample, err := gen.FromTemplates(p, g.makes, g.sample(), g.templates...)
		if err != nil {
			return gen.Draft{}, err
		}
		draft.Sample = sample.Files
	}
	draft.Trial = gen.Trial{Test: "Test" + g.goName}
	draft.Next = []string{fmt.Sprintf("Try it: %s.", p.Call("generate", "kind", g.wire, "name", "first"))}
	if in.Template == "" && in.Body == "" {
		draft.Next = append(draft.Next, fmt.Sprintf("Edit %s in %s, and its test in %s.", g.goName, g.component.path(), g.testPath()))
	}
	return draft, nil
}

// A generator is the generator that Generator creates.
type generator struct {
	component
	makes     string // kind that it creates
	path      string // of the files that it creates, such as handlers/*.go
	templates []gen.Template
}

func newGenerator(p gen.Project, in GeneratorInput) (*generator, error) {
	n, err := newComponent(p, "generator", request{name: in.Name, description: in.Description, fields: in.Fields, Implementation: Implementation{Body: in.Body}})
	if err != nil {
		return nil, err
	}
	g := &generator{component: n, makes: n.wire}
	g.description = cmp.Or(g.description, fmt.Sprintf("creates %s.", plural(n.name.Human())))
	for _, f := range g.input.fields {
		if slices.Contains([]string{"Name", "Description", "Go", "Human", "Package", "Import"}, f.Go) {
			return nil, fmt.Errorf("field %q: templates use {{.%s}} for something else; rename the field", f.Name, f.Go)
		}
	}
	if err := g.setPath(in.Path); err != nil {
		return nil, err
	}
	return g, g.setSource(in)
}

// setPath sets the path of the components, and the directive by which petrock finds them. In a
// folder such as tools, they have the kind of that folder.
func (g *generator) setPath(text string) error {
	g.path = cmp.Or(text, plural(strings.ReplaceAll(g.wire, "_", ""))+"/*.go")
	if err := gen.CheckPattern(g.path); err != nil {
		return err
	}
	place, isPlace := derive.PlaceAt(path.Dir(g.path))
	switch first, _, _ := strings.Cut(g.path, "/"); {
	case first == "core" || first == "generators" || first == ".petrock" || place.Kind == derive.Generator:
		return fmt.Errorf("invalid path %q; this folder is petrock's; choose another", text)
	case isPlace && place.Kind != derive.Feature:
		g.makes = string(place.Kind)
	}
	if !isPlace || path.Base(g.path) != "*.go" { // else the pattern would match other components
		g.directives = append([]string{"makes " + g.path}, g.directives...)
	}
	return nil
}

// setSource sets the templates or the body.
func (g *generator) setSource(in GeneratorInput) error {
	text, test := in.Template, in.Test
	switch {
	case in.Body != "" && in.Template+in.Test != "":
		return errors.New("template and body; send only one of them")
	case in.Body != "":
		return nil
	case text == "" && test != "":
		return errors.New("test without template; send the template too")
	case text == "" && path.Ext(g.path) != ".go":
		return fmt.Errorf("path %s without template; send the template of that file", g.path)
	case text == "":
		var textErr, testErr error
		text, textErr = g.fill("function", "", "")
		test, testErr = g.fill("function_test", "", "")
		if err := errors.Join(textErr, testErr); err != nil {
			return err
		}
	}
	g.templates = []gen.Template{{Path: g.path, Text: endLine(text)}}
	if test != "" {
		if path.Ext(g.path) != ".go" {
			return fmt.Errorf("test with path %s; only Go files have tests", g.path)
		}
		g.templates = append(g.templates, gen.Template{Path: strings.TrimSuffix(g.path, ".go") + "_test.go", Text: endLine(test)})
	}
	statement := "return gen.FromTemplates(p, " + strconv.Quote(g.makes) + ", in,\n"
	for _, t := range g.templates {
		statement += "gen.Template{Path: " + strconv.Quote(t.Path) + ", Text: " + templateLiteral(t.Text) + "},\n"
	}
	g.body = &body{text: statement + ")"}
	return nil
}

func endLine(text string) string { return strings.TrimRight(text, "\n") + "\n" }

// templateLiteral returns a text as Go source, in backquotes.
func templateLiteral(text string) string {
	return "`" + strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "`", "` + \"`\" + `") + "`"
}

// fill returns a text of generator.tmpl. pkg and input are the generator's package and a value of
// its input in a test.
func (g *generator) fill(name, pkg, input string) (string, error) {
	templates, err := template.New("").Delims("[[", "]]").ParseFS(Files, "generator.tmpl")
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = templates.ExecuteTemplate(&text, name, map[string]string{"Go": g.goName, "Human": g.name.Human(), "Path": g.path, "Package": pkg, "Input": input})
	return text.String(), err
}

// file returns the source of the generator.
func (g *generator) file() gen.GoFile {
	file := g.component.file()
	file.Text(fmt.Sprintf("// %[1]sInput is the input of %[1]s, from the command line or from its tool.\ntype %[1]sInput struct {\n"+
		"Name string `json:\"name\"` // Name of the %[2]s, such as first\n"+
		"Description string `json:\"description,omitempty\"` // What it is for, such as: Greets the user.\n%[3]s}",
		g.goName, g.name.Human(), g.input.members(file)))
	file.Text(g.input.enums())
	g.writeFunction(file, "p gen.Project, in "+g.goName+"Input", "gen.Draft", "")
	file.Import(g.project.Import("generators/gen"))
	return file
}

// sample returns values for all fields.
func (g *generator) sample() map[string]any {
	values := map[string]any{"Name": "first", "Description": "Is a sample."}
	for _, f := range g.input.fields {
		values[f.Go], values[f.Name] = f.Sample(), f.Sample()
	}
	return values
}

// test returns the test of the generator. It calls the generator with sample values.
func (g *generator) test() (gen.GoFile, error) {
	imported := g.project.Import(g.dir)
	file := NewTestFile(g.project, g.dir)
	object, err := encodeFields(g.input.fields, anySample)
	set, ok := g.input.shape(imported).members(object)
	if err != nil || !ok {
		return file, errors.Join(err, fmt.Errorf("generator %s: no sample for its fields", g.wire))
	}
	set = append([]jen.Code{gen.KeyValue("Name", jen.Lit("first"))}, set...)
	input := file.Code(jen.Qual(imported, g.input.name).Values(set...))
	test, err := g.fill("test", file.Import(imported), input)
	file.Text(test, g.project.Import("generators/gen"), "path", "testing")
	return file, err
}

// plural returns the regular plural of a noun.
func plural(noun string) string {
	switch {
	case sibilantEnding.MatchString(noun):
		return noun + "es"
	case consonantY.MatchString(noun):
		return strings.TrimSuffix(noun, "y") + "ies"
	}
	return noun + "s"
}

var (
	sibilantEnding = regexp.MustCompile(`(s|x|z|ch|sh)$`)
	consonantY     = regexp.MustCompile(`[^aeiou]y$`)
)
