package generators

import (
	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// jenPath is the import path of jennifer, with which generators write Go.
const jenPath = "github.com/dave/jennifer/jen"

// A recipe is that of the function that a generator is, in the making.
type recipe struct {
	*jen.Group
	p gen.Project
}

// names makes the names of a component that is in a folder.
//
//	// One name makes those that Go, files and people need; the error says what is wrong with it.
//	name, err := gen.ParseName(in.Name)
//	if err != nil {
//		return gen.Draft{}, err
//	}
//	…
//	const dir = "handlers"
//	imported, pkg := p.Import(dir), p.Package(dir)
func (r recipe) names(folder string) {
	r.Comment("// One name makes those that Go, files and people need; the error says what is wrong with it.")
	r.List(jen.Id("name"), jen.Err()).Op(":=").Qual(r.p.Import("generators/gen"), "ParseName").Call(jen.Id("in").Dot("Name"))
	r.refuse()
	r.List(jen.Id("description"), jen.Err()).Op(":=").Qual(r.p.Import("generators/gen"), "Sentence").Call(jen.Id("in").Dot("Description"))
	r.refuse()
	r.Const().Id("dir").Op("=").Lit(folder)
	r.List(jen.Id("imported"), jen.Id("pkg")).Op(":=").List(jen.Id("p").Dot("Import").Call(jen.Id("dir")), jen.Id("p").Dot("Package").Call(jen.Id("dir")))
	r.Line()
}

// source writes the component, which is called what in plain words.
//
//	// The handler, such as:
//	//
//	//	// First is the handler first. Greets somebody.
//	//	func First() string {
//	//		return "first"
//	//	}
//	file := gen.NewGoFile(imported, pkg)
//	…
func (r recipe) source(what string) {
	r.sketch("The "+what+", such as:",
		"// First is the "+what+" first. Greets somebody.",
		"func First() string {",
		"\treturn \"first\"",
		"}",
	)
	r.Id("file").Op(":=").Qual(r.p.Import("generators/gen"), "NewGoFile").Call(jen.Id("imported"), jen.Id("pkg"))
	r.Id("file").Dot("Paragraph").Call(jen.Qual("strings", "TrimSpace").Call(
		the("Go").Op("+").Lit(" is the " + what + " ").Op("+").Add(the("Human")).Op("+").Lit(". ").Op("+").Id("description"),
	))
	r.Id("file").Dot("Func").Call().Dot("Id").Call(the("Go")).Dot("Params").Call().Dot("String").Call().
		Dot("Block").Call(writes("Return", writes("Lit", the("Wire"))))
	r.List(jen.Id("text"), jen.Err()).Op(":=").Id("file").Dot("Bytes").Call()
	r.refuse()
	r.Line()
}

// test writes the test of the component.
//
//	// Its test:
//	//
//	//	func TestFirst(t *testing.T) {
//	//		if got := handlers.First(); got != "first" {
//	//			t.Errorf("it answers %q", got)
//	//		}
//	//	}
//	test := gen.NewGoFile(imported+"_test", pkg+"_test")
//	…
func (r recipe) test(folder string) {
	r.sketch("Its test:",
		"func TestFirst(t *testing.T) {",
		"\tif got := "+folder+".First(); got != \"first\" {",
		"\t\tt.Errorf(\"it answers %q\", got)",
		"\t}",
		"}",
	)
	r.Id("test").Op(":=").Qual(r.p.Import("generators/gen"), "NewGoFile").Call(jen.Id("imported").Op("+").Lit("_test"), jen.Id("pkg").Op("+").Lit("_test"))
	r.Id("test").Dot("ImportName").Call(jen.Id("imported"), jen.Id("pkg"))
	t := writes("Id", jen.Lit("t")).Dot("Op").Call(jen.Lit("*")).Dot("Qual").Call(jen.Lit("testing"), jen.Lit("T"))
	calls := writes("Id", jen.Lit("got")).Dot("Op").Call(jen.Lit(":=")).Dot("Qual").Call(jen.Id("imported"), the("Go")).Dot("Call").Call()
	differs := writes("Id", jen.Lit("got")).Dot("Op").Call(jen.Lit("!=")).Dot("Lit").Call(the("Wire"))
	says := writes("Id", jen.Lit("t")).Dot("Dot").Call(jen.Lit("Errorf")).Dot("Call").Call(writes("Lit", jen.Lit("it answers %q")), writes("Id", jen.Lit("got")))
	r.Id("test").Dot("Func").Call().Dot("Id").Call(jen.Lit("Test").Op("+").Add(the("Go"))).Dot("Params").Call(t).Dot("Block").Custom(lines(),
		writes("If", calls, differs).Dot("Block").Custom(lines(), says),
	)
	r.List(jen.Id("tested"), jen.Err()).Op(":=").Id("test").Dot("Bytes").Call()
	r.refuse()
	r.Line()
}

// draft gives back what was made, which is of a kind.
//
//	where := path.Join(dir, name.File("handler"))
//	return gen.Draft{
//		Kind: "handler",
//		…
//	}, nil
func (r recipe) draft(kind string) {
	r.Id("where").Op(":=").Qual("path", "Join").Call(jen.Id("dir"), jen.Id("name").Dot("File").Call(jen.Lit(kind)))
	r.Return(jen.Qual(r.p.Import("generators/gen"), "Draft").Custom(gen.Multiline(),
		gen.KeyValue("Kind", jen.Lit(kind)),
		gen.KeyValue("Name", the("Wire")),
		gen.KeyValue("Files", jen.Index().Qual(r.p.Import("generators/gen"), "File").Custom(gen.Multiline(),
			jen.Values(gen.KeyValue("Path", jen.Id("where")), gen.KeyValue("Text", jen.Id("text"))),
			jen.Values(gen.KeyValue("Path", jen.Qual("strings", "TrimSuffix").Call(jen.Id("where"), jen.Lit(".go")).Op("+").Lit("_test.go")), gen.KeyValue("Text", jen.Id("tested"))),
		)),
		gen.KeyValue("Next", jen.Index().String().Values(
			jen.Lit("Write ").Op("+").Add(the("Go")).Op("+").Lit(" in ").Op("+").Id("where").Op("+").Lit("."),
			jen.Lit("go test ./").Op("+").Id("dir"),
		)),
	), jen.Nil())
}

// refuse gives an error back.
//
//	if err != nil {
//		return gen.Draft{}, err
//	}
func (r recipe) refuse() {
	r.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Qual(r.p.Import("generators/gen"), "Draft").Values(), jen.Err()))
}

// sketch shows the Go that the next lines write, under a headline.
func (r recipe) sketch(headline string, text ...string) {
	r.Comment("// " + headline)
	r.Comment("//")
	for _, line := range text {
		r.Comment("//\t" + line)
	}
}

// the calls a method of the component's name: name.Go().
func the(method string) *jen.Statement { return jen.Id("name").Dot(method).Call() }

// writes calls a function of jennifer: jen.Lit("x").
func writes(function string, arguments ...jen.Code) *jen.Statement {
	return jen.Qual(jenPath, function).Call(arguments...)
}

// lines is a list of arguments that has each of them on a line of its own.
func lines() jen.Options {
	return jen.Options{Open: "(", Close: ")", Separator: ",", Multi: true}
}
