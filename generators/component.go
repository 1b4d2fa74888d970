package generators

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"

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
	examples []gen.Example // of what it gives back

	feature string   // that it is part of; empty if it is of none
	check   *body    // of a command, nil if it refuses nothing
	given   []call   // what its test begins with
	tools   []string // that the examples call
	others  []string // features that its test needs beside those of what it calls

	input, output shape                   // types of a tool; without a name if they are not known
	features      map[string]*gen.Feature // that its test calls, by name
}

// names makes the names of a component.
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

// about is the doc comment of the function, after its name.
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

// file begins the file of the component.
func (n named) file(p gen.Project) gen.GoFile {
	return gen.NewGoFile(p.Import(n.dir), p.Package(n.dir))
}

// function adds the function itself.
//
//	// SendMail sends a mail.
//	func SendMail(ctx context.Context, in SendMailInput) (SendMailOutput, error) {
//		return SendMailOutput{}, errors.New("send_mail is not written yet: write it in tools/send_mail.go")
//	}
func (n named) function(file gen.GoFile, params []jen.Code, result, zero *jen.Statement) {
	n.declare(file, params, result, func(g *jen.Group) { g.Add(n.block(zero)) })
}

// declare adds a function that is called as the component is, with its doc comment.
func (n named) declare(file gen.GoFile, params []jen.Code, result *jen.Statement, body func(*jen.Group)) {
	file.Comment("// " + n.goName + " " + n.about())
	direct(file, n.directives)
	file.Func().Id(n.goName).Params(params...).Params(result, jen.Error()).BlockFunc(body)
}

// test begins the test of the component, with a client that is connected to what the package offers.
//
//	func TestSendMail(t *testing.T) {
//		client := mcptest.Serve(t, tools.Register)
//		…
//	}
func (n named) test(p gen.Project, body func(*jen.Group)) gen.GoFile {
	imported := p.Import(n.dir)
	file := gen.NewGoFile(imported+"_test", p.Package(n.dir)+"_test")
	file.ImportName(p.Import("core/mcptest"), "mcptest")
	if n.feature != "" {
		n.importFeatures(p, file)
	} else {
		file.ImportName(imported, p.Package(n.dir))
	}
	file.Func().Id("Test" + n.goName).Params(jen.Id("t").Op("*").Qual("testing", "T")).BlockFunc(func(g *jen.Group) {
		if n.feature != "" {
			n.serve(p, g)
		} else {
			g.Id("client").Op(":=").Qual(p.Import("core/mcptest"), "Serve").Call(jen.Id("t"), jen.Qual(imported, "Register"))
		}
		body(g)
	})
	return file
}

// path is that of the file that the component is written in.
func (n named) path() string { return path.Join(n.dir, n.name.File(n.kind)) }

// testPath is the path of its test file.
func (n named) testPath() string { return strings.TrimSuffix(n.path(), ".go") + "_test.go" }

// draft is the component with its test.
func (n named) draft(file, test gen.GoFile) (gen.Draft, error) {
	text, err := file.Bytes()
	if err != nil {
		return gen.Draft{}, err
	}
	tested, err := test.Bytes()
	if err != nil {
		return gen.Draft{}, err
	}
	draft := gen.Draft{Kind: n.kind, Name: n.wire, Files: []gen.File{{Path: n.path(), Text: text}, {Path: n.testPath(), Text: tested}}}
	if n.body != nil {
		draft.Files[0].Seek, draft.Files[0].Imports = true, n.body.imports
		if n.check != nil {
			draft.Files[0].Imports = merge(draft.Files[0].Imports, n.check.imports)
		}
	}
	draft.Trial = n.trial()
	gives := "gives back"
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
	return draft, nil
}
