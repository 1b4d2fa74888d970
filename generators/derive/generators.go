package derive

import (
	"path"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/emit"
	"github.com/petrock/petrock/generators/source"
)

// renderGenerators writes the list of generators.
//
//	// All are the generators, sorted by name.
//	func All() []kit.Generator {
//		return []kit.Generator{
//			{
//				Name:        "tool",
//				Description: "Makes a tool.",
//				InputSchema: json.RawMessage(inputSchemaTool),
//				Make:        kit.Typed(Tool),
//			},
//		}
//	}
func (f *finder) renderGenerators() ([]byte, error) {
	e := emitter{emit.NewFile(f.pkg.Path(), f.pkg.Name()), f.Core}
	e.HeaderComment(source.DerivedMark + " from the functions of this package. DO NOT EDIT.")
	kit := path.Join(f.pkg.Path(), "kit")
	e.ImportName(kit, "kit")
	var schemas, list []jen.Code
	for _, c := range f.found.Components {
		schemas = append(schemas, c.schemas()...)
	}
	e.Const().Defs(schemas...)
	for _, c := range f.found.Components {
		list = append(list, jen.Custom(emit.Multiline(),
			emit.Key("Name", jen.Lit(c.Name)),
			emit.Key("Description", jen.Lit(c.Description)),
			emit.Key("InputSchema", e.rawMessage(c.constant("inputSchema"))),
			emit.Key("Make", jen.Qual(kit, "Typed").Call(jen.Id(c.Func))),
		))
	}
	e.Comment("// All are the generators, sorted by name.")
	e.Func().Id("All").Params().Index().Qual(kit, "Generator").Block(
		jen.Return(jen.Index().Qual(kit, "Generator").Custom(emit.Multiline(), list...)),
	)
	return e.Bytes()
}
