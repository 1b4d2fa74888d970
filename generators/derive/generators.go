package derive

import (
	"path"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

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
	gens := path.Join(f.pkg.Path(), "gen")
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
