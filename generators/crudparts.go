package generators

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// checks adds the method that refuses a command.
func (c crud) checks(file gen.GoFile, command, about string, result *jen.Statement) {
	file.Comment("// Check " + about)
	file.Func().Params(jen.Id("c").Id(command)).Id("Check").Params(jen.Id("ctx").Qual("context", "Context"), jen.Id("s").Op("*").Id("State")).Error().Block(jen.Return(result))
}

// applies adds the method that changes the state, and gives back an item.
func (c crud) applies(file gen.GoFile, command, about string, body func(*jen.Group)) {
	file.Comment("// Apply " + about)
	file.Func().Params(jen.Id("c").Id(command)).Id("Apply").Params(jen.Id("s").Op("*").Id("State"), jen.Id("e").Qual(c.p.Import("core/app"), "Entry")).Id(c.typ).BlockFunc(body)
}

// a is an item with its article: a post.
func (c crud) a() string { return article(c.one) + " " + c.one }

// idField is that of the id of an item that is meant.
func (c crud) idField() gen.Field {
	return gen.Field{Name: "id", Go: "ID", Type: gen.FieldType{Kind: gen.KindString}, Description: "Id of the " + c.one}
}

// command writes the type of a command, or of a query. The types of enumerations are those of the items.
func (c crud) command(file gen.GoFile, name, about string, directives []string, fields ...gen.Field) {
	s := structure{name: name, prefix: c.typ, about: about, directives: directives, logged: true}
	file.Comment(fmt.Sprintf("// %s %s", s.name, s.about))
	direct(file, directives)
	file.Type().Id(name).StructFunc(func(g *jen.Group) {
		for _, f := range fields {
			g.Add(s.member(f))
		}
	})
}

// create is the command that adds an item.
func (c crud) create() gen.GoFile {
	file := c.file()
	c.command(file, "Create", "adds "+c.a()+".", []string{"hints additive"}, c.fields...)
	c.checks(file, "Create", "refuses nothing: what the fields may hold is checked by their tags.", jen.Nil())
	c.applies(file, "Create", fmt.Sprintf("adds the %s.", c.one), func(g *jen.Group) {
		set := []jen.Code{gen.KeyValue("ID", jen.Id("e").Dot("ID")), gen.KeyValue("Seq", jen.Id("e").Dot("Seq"))}
		for _, f := range c.fields {
			set = append(set, gen.KeyValue(f.Go, jen.Id("c").Dot(f.Go)))
		}
		set = append(set, gen.KeyValue("CreatedAt", jen.Id("e").Dot("Time")), gen.KeyValue("UpdatedAt", jen.Id("e").Dot("Time")))
		g.Id(c.item).Op(":=").Op("&").Id(c.typ).Custom(gen.Multiline(), set...)
		g.Add(c.items()).Index(jen.Id(c.item).Dot("ID")).Op("=").Id(c.item)
		g.Id("s").Dot("Order").Op("=").Append(jen.Id("s").Dot("Order"), jen.Id(c.item).Dot("ID"))
		g.Return(jen.Op("*").Id(c.item))
	})
	return file
}

// updateFields are the fields of the command that changes an item.
func (c crud) updateFields() []gen.Field {
	fields := []gen.Field{c.idField()}
	for _, f := range c.fields {
		f.Optional = true
		fields = append(fields, f)
	}
	return fields
}

// update is the command that changes an item.
func (c crud) update() gen.GoFile {
	file := c.file()
	c.command(file, "Update", fmt.Sprintf("changes %s: the fields that are given, and no others.", c.a()), []string{"hints idempotent"}, c.updateFields()...)
	c.checks(file, "Update", "refuses an id that is not known.", jen.Id("s").Dot("known").Call(jen.Id("c").Dot("ID")))
	c.applies(file, "Update", fmt.Sprintf("changes the %s.", c.one), func(g *jen.Group) {
		g.Id(c.item).Op(":=").Add(c.items()).Index(jen.Id("c").Dot("ID"))
		for _, f := range c.fields {
			value := jen.Id("c").Dot(f.Go)
			if !f.Optional && !mayBeNil(f.Type) {
				value = jen.Op("*").Add(value)
			}
			g.If(jen.Id("c").Dot(f.Go).Op("!=").Nil()).Block(jen.Id(c.item).Dot(f.Go).Op("=").Add(value))
		}
		g.Id(c.item).Dot("UpdatedAt").Op("=").Id("e").Dot("Time")
		g.Return(jen.Op("*").Id(c.item))
	})
	return file
}

// remove is the command that takes an item away.
func (c crud) remove() gen.GoFile {
	file := c.file()
	c.command(file, "Delete", fmt.Sprintf("takes %s away, and gives it back as it was.", c.a()), []string{"hints destructive idempotent"}, c.idField())
	c.checks(file, "Delete", "refuses an id that is not known.", jen.Id("s").Dot("known").Call(jen.Id("c").Dot("ID")))
	c.applies(file, "Delete", fmt.Sprintf("takes the %s away.", c.one), func(g *jen.Group) {
		g.Id(c.item).Op(":=").Add(c.items()).Index(jen.Id("c").Dot("ID"))
		g.Id("s").Dot("drop").Call(jen.Id("s").Dot("after").Call(jen.Id(c.item).Dot("Seq")).Op("-").Lit(1))
		g.Delete(c.items(), jen.Id("c").Dot("ID"))
		g.Return(jen.Op("*").Id(c.item))
	})
	c.drop(file)
	return file
}

// drop adds what takes an id out of the order.
//
//	func (s *State) drop(at int) {
//		if at < len(s.Order)/2 {
//			copy(s.Order[1:at+1], s.Order[:at])
//			s.Order = s.Order[1:]
//			return
//		}
//		s.Order = slices.Delete(s.Order, at, at+1)
//	}
func (c crud) drop(file gen.GoFile) {
	order := func() *jen.Statement { return jen.Id("s").Dot("Order") }
	next := func() *jen.Statement { return jen.Id("at").Op("+").Lit(1) }
	file.Comment("// drop takes the id at a place out of Order. It moves the shorter side: the oldest go as quickly as the newest.")
	file.Func().Params(jen.Id("s").Op("*").Id("State")).Id("drop").Params(jen.Id("at").Int()).Block(
		jen.If(jen.Id("at").Op("<").Len(order()).Op("/").Lit(2)).Block(
			jen.Copy(order().Index(jen.Lit(1), next()), order().Index(jen.Empty(), jen.Id("at"))),
			order().Op("=").Add(order()).Index(jen.Lit(1), jen.Empty()),
			jen.Return(),
		),
		order().Op("=").Qual("slices", "Delete").Call(order(), jen.Id("at"), next()),
	)
}

// answers adds the method that answers a query.
func (c crud) answers(file gen.GoFile, query, about, output string, body func(*jen.Group)) {
	file.Comment("// Answer " + about)
	file.Func().Params(jen.Id("q").Id(query)).Id("Answer").Params(jen.Id("ctx").Qual("context", "Context"), jen.Id("s").Op("*").Id("State")).Params(jen.Id(output), jen.Error()).BlockFunc(body)
}

// get is the query for one item.
func (c crud) get() gen.GoFile {
	file := c.file()
	c.command(file, "Get", "gives back one "+c.one+".", nil, c.idField())
	c.answers(file, "Get", "finds it.", c.typ, func(g *jen.Group) {
		g.If(jen.Err().Op(":=").Id("s").Dot("known").Call(jen.Id("q").Dot("ID")), jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Id(c.typ).Values(), jen.Err()))
		g.Return(jen.Op("*").Add(c.items()).Index(jen.Id("q").Dot("ID")), jen.Nil())
	})
	return file
}

// list is the query for all items, in pages. It looks at those of the page alone.
func (c crud) list() gen.GoFile {
	file := c.file()
	file.Comment(fmt.Sprintf("// List lists %s in the order in which they were created, a page at a time.", c.feature))
	file.Type().Id("List").Struct(
		jen.Id("Limit").Int().Op("`json:\"limit\" schema:\"min=1,max=100,default=20\"`").Comment("// How many at most"),
		jen.Id("After").Int64().Op("`json:\"after,omitempty\" schema:\"min=0\"`").Comment("// What next was on the page before; left out for the first one"),
	)
	file.Comment("// ListOutput is one page.")
	file.Type().Id("ListOutput").Struct(
		jen.Id("Items").Index().Id(c.typ).Op("`json:\"items\"`").Comment("// Those on the page"),
		jen.Id("Next").Int64().Op("`json:\"next,omitempty\"`").Comment("// What to give as after for the next page; left out on the last one"),
	)
	c.answers(file, "List", "finds the page. It stays where it is when others are deleted.", "ListOutput", func(g *jen.Group) {
		order := jen.Id("s").Dot("Order")
		g.Id("rest").Op(":=").Add(order).Index(jen.Id("s").Dot("after").Call(jen.Id("q").Dot("After")), jen.Empty())
		g.Id("page").Op(":=").Id("rest").Index(jen.Empty(), jen.Id("min").Call(jen.Id("max").Call(jen.Id("q").Dot("Limit"), jen.Lit(1)), jen.Len(jen.Id("rest"))))
		g.Id("out").Op(":=").Id("ListOutput").Values(gen.KeyValue("Items", jen.Make(jen.Index().Id(c.typ), jen.Lit(0), jen.Len(jen.Id("page")))))
		g.For(jen.List(jen.Id("_"), jen.Id("id")).Op(":=").Range().Id("page")).Block(
			jen.Id("out").Dot("Items").Op("=").Append(jen.Id("out").Dot("Items"), jen.Op("*").Add(c.items()).Index(jen.Id("id"))),
		)
		g.If(jen.Len(jen.Id("page")).Op("<").Len(jen.Id("rest"))).Block(
			jen.Id("out").Dot("Next").Op("=").Id("out").Dot("Items").Index(jen.Len(jen.Id("page")).Op("-").Lit(1)).Dot("Seq"),
		)
		g.Return(jen.Id("out"), jen.Nil())
	})
	return file
}
