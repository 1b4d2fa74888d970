package generators

import (
	"encoding/json"
	"go/parser"
	"go/types"
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// test is one that reads an event of the old version.
//
//	func TestCreateV1(t *testing.T) {
//		event := app.Record{Type: "links/create", Version: 1, Data: []byte(`{"url":"example"}`)}
//		got := apptest.Replayed[links.Create](t, event, links.Feature())
//		if want := (links.Create{Href: "example"}); !reflect.DeepEqual(got, want) {
//			t.Errorf("got %+v, want %+v", got, want)
//		}
//	}
func (u *upgrade) test(imported, pkg string) ([]byte, error) {
	file := gen.NewGoFile(imported+"_test", pkg+"_test")
	file.ImportName(imported, pkg)
	file.ImportName(u.p.Import("core/app"), "app")
	file.ImportName(u.p.Import("core/apptest"), "apptest")
	file.Commentf("// An event of version %d of %s is read as a %s.", u.Version, u.Entry, u.Type)
	file.Func().Id("Test" + u.OldType("")).Params(jen.Id("t").Op("*").Qual("testing", "T")).BlockFunc(func(g *jen.Group) {
		want, data := u.expected(imported), jen.Id("data")
		if event, ok := u.Old.Example(); ok && want != nil {
			data = jen.Index().Byte().Call(gen.RawString(event))
		} else {
			want = jen.Id("old").Dot("Upgrade").Call()
			g.Id("old").Op(":=").Qual(imported, u.OldType("")).Values(u.examples()...)
			g.List(jen.Id("data"), jen.Err()).Op(":=").Qual("encoding/json", "Marshal").Call(jen.Id("old"))
			g.If(jen.Err().Op("!=").Nil()).Block(jen.Id("t").Dot("Fatal").Call(jen.Err()))
		}
		g.Id("event").Op(":=").Qual(u.p.Import("core/app"), "Record").Values(
			gen.KeyValue("Type", jen.Lit(u.Entry)), gen.KeyValue("Version", jen.Lit(u.Version)), gen.KeyValue("Data", data))
		g.Id("got").Op(":=").Qual(u.p.Import("core/apptest"), "Replayed").Types(jen.Qual(imported, u.Type)).Call(
			jen.Id("t"), jen.Id("event"), jen.Qual(imported, "Feature").Call())
		g.If(jen.Id("want").Op(":=").Add(want), jen.Op("!").Qual("reflect", "DeepEqual").Call(jen.Id("got"), jen.Id("want"))).Block(
			jen.Id("t").Dot("Errorf").Call(jen.Lit("got %+v, want %+v"), jen.Id("got"), jen.Id("want")),
		)
	})
	return file.Bytes()
}

// expected is what the example event stands for, written out; nil if that cannot be.
func (u *upgrade) expected(imported string) *jen.Statement {
	event, ok := u.Old.Example()
	var data map[string]json.RawMessage
	if !ok || u.body != nil || json.Unmarshal([]byte(event), &data) != nil {
		return nil
	}
	var set []jen.Code
	for _, f := range derive.JSONFields(u.Struct) {
		var value json.RawMessage
		if was, found := u.sourceOf("", u.Old.Fields, f.Name); found {
			value = data[was.Name]
		}
		if fallback, has := u.defaultOf(f.Name); has && value == nil {
			if value = json.RawMessage(fallback); !json.Valid(value) {
				value = json.RawMessage(strconv.Quote(fallback))
			}
		}
		if value == nil {
			continue
		}
		literal, ok := u.literalOf(value, f.Var.Type())
		if !ok || len(f.Path) > 1 {
			return nil
		}
		set = append(set, gen.KeyValue(f.Path[0], literal))
	}
	return jen.Parens(jen.Qual(imported, u.Type).Values(set...))
}

// examples are values for the basic fields of the old version.
func (u *upgrade) examples() []jen.Code {
	var set []jen.Code
	for _, was := range u.Old.Fields {
		switch was.Type {
		case "string":
			set = append(set, gen.KeyValue(recordedGo(was), jen.Lit("example")))
		case "bool":
			set = append(set, gen.KeyValue(recordedGo(was), jen.True()))
		}
	}
	return set
}

// literalOf is a JSON value as a Go literal that can be assigned to a type, if there is one.
func (u *upgrade) literalOf(value json.RawMessage, t types.Type) (*jen.Statement, bool) {
	own := shape{path: u.p.Import(u.Dir)}
	text := types.TypeString(t, func(pkg *types.Package) string {
		if pkg.Path() == own.path {
			return ""
		}
		return pkg.Name()
	})
	if named, ok := types.Unalias(t).(*types.Named); ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == own.path && !derive.IsOpaque(named) {
		text = named.Underlying().String() // a constant without a type fits
	}
	written, err := parser.ParseExpr(text)
	if err != nil {
		return nil, false
	}
	made, ok := own.value(written, value, false)
	return made.code, ok
}
