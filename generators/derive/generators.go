package derive

import (
	"path"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// petrockPackage returns the import path of one of petrock's packages in the project.
func (p Project) petrockPackage(dir string) string { return path.Join(path.Dir(p.Core), dir) }

// RunGenerators derives the program that runs the project's own generators: the project's petrock
// with them in it. It is a program of its own, so that cmd/petrock builds while they do not. The
// text is nil if the project has none.
//
//	func main() {
//		out := os.NewFile(stdout.FD(), "stdout") // os.Stdout is standard error from here on
//		os.Exit(cli.Main(context.Background(), os.Args[1:], out, generators.All()...))
//	}
func (p Project) RunGenerators(view *typecheck.View) (File, error) {
	dir := path.Join(OwnGenerators, "run")
	file := File{Path: path.Join(dir, "main_gen.go")}
	own, _ := PlaceOf(Generator)
	registry := view.File(own.derived())
	if registry == nil {
		return file, nil
	}
	imported, cli, stdout := p.Checker.ImportPath(own.Dir), p.petrockPackage("generators/cli"), p.petrockPackage("core/serve/stdout")
	e := gen.NewGoFile(p.Checker.ImportPath(dir), "main")
	e.HeaderComment(typecheck.DerivedMark + " from the package " + own.Dir + ". DO NOT EDIT.")
	e.PackageComment("// Run is this project's petrock with the project's own generators. Petrock builds and starts it\n// when one of those is wanted.")
	e.ImportName(imported, registry.Syntax.Name.Name)
	e.ImportName(cli, "cli")
	e.ImportName(stdout, "stdout")
	e.Func().Id("main").Params().Block(
		jen.Id("out").Op(":=").Qual("os", "NewFile").Call(jen.Qual(stdout, "FD").Call(), jen.Lit("stdout")).Comment("// os.Stdout is standard error from here on"),
		jen.Qual("os", "Exit").Call(jen.Qual(cli, "Main").Call(
			jen.Qual("context", "Background").Call(), jen.Qual("os", "Args").Index(jen.Lit(1).Op(":")), jen.Id("out"), jen.Qual(imported, "All").Call().Op("..."),
		)),
	)
	var err error
	file.Text, err = e.Bytes()
	return file, err
}

// renderGenerators writes the list of generators.
//
//	// All are the generators, sorted by name.
//	func All() []gen.Generator {
//		return []gen.Generator{
//			{
//				Name:        "tool",
//				Description: "Makes a tool.",
//				InputSchema: json.RawMessage(inputSchemaTool),
//				Make:        gen.Typed(Tool),
//			},
//		}
//	}
func (f *finder) renderGenerators() ([]byte, error) {
	e := emitter{gen.NewGoFile(f.pkg.Path(), f.pkg.Name()), f.Core}
	e.HeaderComment(typecheck.DerivedMark + " from the functions of this package. DO NOT EDIT.")
	gens := f.petrockPackage("generators/gen")
	e.ImportName(gens, "gen")
	var schemas, list []jen.Code
	for _, c := range f.found.Components {
		schemas = append(schemas, c.schemas()...)
	}
	e.Const().Defs(schemas...)
	for _, c := range f.found.Components {
		list = append(list, jen.Custom(gen.Multiline(),
			gen.KeyValue("Name", jen.Lit(c.Name)),
			gen.KeyValue("Description", jen.Lit(c.Description)),
			gen.KeyValue("InputSchema", e.rawMessage(c.constant("inputSchema"))),
			gen.KeyValue("Make", jen.Qual(gens, "Typed").Call(jen.Id(c.Func))),
		))
	}
	e.Comment("// All are the generators, sorted by name.")
	e.Func().Id("All").Params().Index().Qual(gens, "Generator").Block(
		jen.Return(jen.Index().Qual(gens, "Generator").Custom(gen.Multiline(), list...)),
	)
	return e.Bytes()
}
