package generators

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// GeneratorInput is what the generator of generators takes.
type GeneratorInput struct {
	Name        string `json:"name"`                  // Name of the generator, and of what it makes, such as handler
	Description string `json:"description,omitempty"` // What the generator makes, such as: Makes a handler of HTTP requests.
}

// Generator makes a generator of the project's own, with its test. It works as it is, making functions with tests;
// change it to make what you need.
func Generator(p gen.Project, in GeneratorInput) (gen.Draft, error) {
	name, err := gen.ParseName(in.Name)
	if err != nil {
		return gen.Draft{}, err
	}
	n := named{kind: "generator", dir: derive.OwnGenerators, name: name, wire: name.Wire(), goName: name.Go()}
	if err := n.free(in.Name); err != nil {
		return gen.Draft{}, err
	}
	if n.description, err = gen.Sentence(in.Description); err != nil {
		return gen.Draft{}, err
	}
	if n.description == "" {
		n.description = fmt.Sprintf("makes %s: functions that answer with their own name, each with its test.", plural(name.Human()))
	}
	if !name.Exact() {
		n.directives = append(n.directives, "name "+n.wire)
	}
	folder := plural(strings.ReplaceAll(n.wire, "_", ""))
	draft, err := n.draft(n.generator(p, folder), n.generatorTest(p, folder))
	if err != nil {
		return gen.Draft{}, err
	}
	draft.Trial = gen.Trial{Program: derive.OwnGenerators + "/run", Test: "Test" + n.goName}
	draft.Next = []string{
		fmt.Sprintf("Change what %s makes in %s, and say in its test, %s, what that is.", n.goName, n.path(), n.testPath()),
		"go test ./" + n.dir,
		fmt.Sprintf("go run ./cmd/petrock generate %s first", n.wire),
	}
	return draft, nil
}

func (n named) free(typed string) error {
	plain := strings.ReplaceAll(n.wire, "_", "")
	if plain == "component" || slices.ContainsFunc(All(), func(g gen.Generator) bool { return g.Name == plain }) {
		return fmt.Errorf("petrock has a generator %q; choose another name", typed)
	}
	if token.IsKeyword(n.wire) {
		return fmt.Errorf("%q is a keyword of Go; take another name", typed)
	}
	if n.goName == "All" {
		return fmt.Errorf("the name %q would make a function All, which is the name of something else here; take another", typed)
	}
	return gen.CheckGeneratorName(n.wire)
}

// plural is a noun for several of what it is one of, as a rule.
func plural(noun string) string {
	ends := func(endings ...string) bool {
		for _, ending := range endings {
			if strings.HasSuffix(noun, ending) {
				return true
			}
		}
		return false
	}
	switch {
	case ends("s", "x", "z", "ch", "sh"):
		return noun + "es"
	case ends("y") && !ends("ay", "ey", "iy", "oy", "uy") && len(noun) > 1:
		return strings.TrimSuffix(noun, "y") + "ies"
	}
	return noun + "s"
}

// generator is the file of a generator whose components are in a folder.
//
//	// HandlerInput is what the generator of handlers takes. …
//	type HandlerInput struct {
//		Name        string `json:"name"`                  // Name of the handler, such as first
//		Description string `json:"description,omitempty"` // What the handler is for, such as: Greets somebody.
//	}
//
//	// Handler makes handlers: functions that answer with their own name, each with its test.
//	func Handler(p gen.Project, in HandlerInput) (gen.Draft, error) {
//		…
//	}
func (n named) generator(p gen.Project, folder string) gen.GoFile {
	file := n.file(p)
	file.ImportName(p.Import("generators/gen"), "gen")
	file.ImportName(jenPath, "jen")
	what := n.name.Human()
	file.Paragraph(
		fmt.Sprintf("%sInput is what the generator of %s takes: words and flags of its command, arguments", n.goName, plural(what)),
		"of its tool. ToolInput in generators/tool.go shows how to take fields.",
	)
	file.Type().Id(n.goName+"Input").Struct(
		jen.Id("Name").String().Op("`json:\"name\"`").Comment(fmt.Sprintf("// Name of the %s, such as first", what)),
		jen.Id("Description").String().Op("`json:\"description,omitempty\"`").Comment(fmt.Sprintf("// What the %s is for, such as: Greets somebody.", what)),
	)
	draft := jen.Qual(p.Import("generators/gen"), "Draft")
	n.declare(file, []jen.Code{jen.Id("p").Qual(p.Import("generators/gen"), "Project"), jen.Id("in").Id(n.goName + "Input")}, draft, func(g *jen.Group) {
		r := recipe{g, p}
		r.names(folder)
		r.source(what)
		r.test(folder)
		r.draft(n.wire)
	})
	return file
}

// generatorTest is the test of a generator.
//
//	func TestHandler(t *testing.T) {
//		project := gen.Project{Name: "hello", Module: "example.com/hello"}
//		draft, err := generators.Handler(project, generators.HandlerInput{Name: "first"})
//		…
//	}
func (n named) generatorTest(p gen.Project, folder string) gen.GoFile {
	imported, gens := p.Import(n.dir), p.Import("generators/gen")
	file := gen.NewGoFile(imported+"_test", p.Package(n.dir)+"_test")
	file.ImportName(imported, p.Package(n.dir))
	file.ImportName(gens, "gen")
	run := func(name string) *jen.Statement {
		return jen.Qual(imported, n.goName).Call(jen.Id("project"), jen.Qual(imported, n.goName+"Input").Values(gen.KeyValue("Name", jen.Lit(name))))
	}
	file.Func().Id("Test" + n.goName).Params(jen.Id("t").Op("*").Qual("testing", "T")).BlockFunc(func(g *jen.Group) {
		g.Id("project").Op(":=").Qual(gens, "Project").Values(gen.KeyValue("Name", jen.Lit("hello")), gen.KeyValue("Module", jen.Lit("example.com/hello")))
		g.List(jen.Id("draft"), jen.Err()).Op(":=").Add(run("first"))
		g.If(jen.Err().Op("!=").Nil()).Block(jen.Id("t").Dot("Fatal").Call(jen.Err()))
		g.Id("wants").Op(":=").Index().Id("struct").Values(jen.List(jen.Id("path"), jen.Id("text")).String()).Custom(gen.Multiline(),
			jen.Values(jen.Lit(folder+"/first.go"), jen.Lit("func First() string")),
			jen.Values(jen.Lit(folder+"/first_test.go"), jen.Lit("func TestFirst(t *testing.T)")),
		)
		g.If(jen.Len(jen.Id("draft").Dot("Files")).Op("!=").Len(jen.Id("wants"))).Block(
			jen.Id("t").Dot("Fatalf").Call(jen.Lit("it makes %d files, not %d"), jen.Len(jen.Id("draft").Dot("Files")), jen.Len(jen.Id("wants"))),
		)
		g.For(jen.List(jen.Id("i"), jen.Id("want")).Op(":=").Range().Id("wants")).Block(
			jen.If(
				jen.Id("file").Op(":=").Id("draft").Dot("Files").Index(jen.Id("i")),
				jen.Id("file").Dot("Path").Op("!=").Id("want").Dot("path").Op("||").Op("!").Qual("strings", "Contains").Call(jen.String().Call(jen.Id("file").Dot("Text")), jen.Id("want").Dot("text")),
			).Block(
				jen.Id("t").Dot("Errorf").Call(jen.Lit("%s is not %s with %q in it:\n%s"), jen.Id("file").Dot("Path"), jen.Id("want").Dot("path"), jen.Id("want").Dot("text"), jen.Id("file").Dot("Text")),
			),
		)
		g.Comment("// What cannot be a name is refused.")
		g.If(jen.List(jen.Id("_"), jen.Err()).Op(":=").Add(run("no name")), jen.Err().Op("==").Nil()).Block(
			jen.Id("t").Dot("Error").Call(jen.Lit("a name with a space in it is taken")),
		)
	})
	return file
}
