package generators

import (
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// A crud is a feature in the making that keeps items.
type crud struct {
	p       gen.Project
	feature string
	all     string // the field of the state that holds the items
	one     string // an item in plain words: post
	typ     string // its type
	item    string // variables that hold one
	fields  []gen.Field
}

func crudFeature(p gen.Project, draft gen.Draft, in FeatureInput, fields []gen.Field) (gen.Draft, error) {
	if len(fields) == 0 {
		return gen.Draft{}, errors.New("crud needs the fields of an item: title:string, for instance")
	}
	c, err := newCRUD(p, in, fields)
	if err != nil {
		return gen.Draft{}, err
	}
	tests, err := c.tests()
	if err != nil {
		return gen.Draft{}, err
	}
	draft.Files, err = rendered(featureDir(c.feature), append([]source{
		{"state.go", c.state()},
		{"create.go", c.create()},
		{"update.go", c.update()},
		{"delete.go", c.remove()},
		{"get.go", c.get()},
		{"list.go", c.list()},
	}, tests...)...)
	if err != nil {
		return gen.Draft{}, err
	}
	draft.Next = []string{
		fmt.Sprintf("Call %[1]s_create, %[1]s_list, %[1]s_get, %[1]s_update and %[1]s_delete; %[2]s is in %[3]s.", c.feature, c.typ, featureDir(c.feature)+"/state.go"),
		"go test ./" + featureDir(c.feature),
	}
	return draft, nil
}

func newCRUD(p gen.Project, in FeatureInput, fields []gen.Field) (crud, error) {
	c := crud{p: p, feature: in.Name, fields: fields, all: "Items"}
	if err := gen.CheckWireName(in.Name+"_create", p.Name); err != nil {
		return c, err
	}
	if name, err := gen.ParseName(in.Name); err == nil && name.Go() != "Order" {
		c.all = name.Go()
	}
	text := in.Item
	if text == "" {
		text = "item"
		if one, ok := singular(in.Name); ok && !c.takes(goName(one)) {
			text = one
		}
	}
	name, err := gen.ParseName(text)
	if err != nil {
		return c, err
	}
	c.one, c.typ = name.Human(), name.Go()
	if c.takes(c.typ) {
		return c, fmt.Errorf("an item called %q would be a type %s, which is the name of something else in a feature; give it another", in.Item, c.typ)
	}
	c.item = variable(c.typ)
	for _, f := range fields {
		if err := c.free(f); err != nil {
			return c, err
		}
	}
	n := named{kind: "feature", feature: c.feature, goName: "State"}
	return c, n.apart(c.structure(fields), structure{name: "Create"}, structure{name: "Update"}, structure{name: "Delete"}, structure{name: "Get"},
		structure{name: "List"}, structure{name: "ListOutput"}, structure{name: "NewState"}, structure{name: "Feature"}, structure{name: "Map"})
}

func goName(word string) string {
	name, err := gen.ParseName(word)
	if err != nil {
		return ""
	}
	return name.Go()
}

// takes reports whether the feature declares a name otherwise than for its items.
func (c crud) takes(name string) bool {
	switch name {
	case "", "Create", "Update", "Delete", "Get", "List", "ListOutput":
		return true
	}
	return isReserved(name)
}

// variable is what something of a type is called in a function: post. Where that means something else there, it is item.
func variable(typ string) string {
	name := strings.ToLower(typ[:1]) + typ[1:]
	switch name {
	case "app", "cmp", "slices", "sort", "fmt", "context", "time", "ctx", "ids", "out", "page", "rest", "err":
		return "item"
	}
	if len(name) == 1 || token.IsKeyword(name) || types.Universe.Lookup(name) != nil || strings.ToUpper(typ[:2]) == typ[:2] {
		return "item"
	}
	return name
}

// free refuses fields whose names something else has that every item has.
func (c crud) free(f gen.Field) error {
	for _, other := range []struct{ name, is string }{
		{"id", "an id"}, {"seq", "a number that says where it stands in the order of all"}, {"created_at", "the time at which it was created"}, {"updated_at", "the time at which it was changed last"},
	} {
		if strings.EqualFold(strings.ReplaceAll(f.Name, "_", ""), strings.ReplaceAll(other.name, "_", "")) {
			return fmt.Errorf("field %q: each item has %s by itself, as %s; leave the field out, or give it another name", f.Name, other.is, other.name)
		}
	}
	for _, method := range []string{"Check", "Apply"} {
		if f.Go == method {
			return fmt.Errorf("field %q: in Go a command has a method %s, so that no field can be called that; give it another name", f.Name, method)
		}
	}
	return nil
}

func (c crud) structure(fields []gen.Field) structure {
	return structure{name: c.typ, prefix: c.typ, fields: fields, logged: true}
}

// state is what is kept.
//
//	// State is what the log says of posts.
//	type State struct {
//		Posts map[string]*Post `json:"posts"` // by id
//		Order []string         `json:"order"` // ids, in the order in which they were created
//	}
func (c crud) state() gen.GoFile {
	file := c.file()
	file.Comment(fmt.Sprintf("// State is what the log says of %s. Commands change it, and nothing else does.", c.feature))
	file.Type().Id("State").Struct(
		jen.Id(c.all).Map(jen.String()).Op("*").Id(c.typ).Op("`json:\""+strings.ToLower(c.all)+"\"`").Comment("// By id"),
		jen.Id("Order").Index().String().Op("`json:\"order\"`").Comment("// Their ids, in the order in which they were created"),
	)
	file.Comment(fmt.Sprintf("// %s %s is one of the %s.", gen.Capitalize(article(c.one)), c.typ, c.feature))
	bare := c.structure(nil)
	file.Type().Id(c.typ).StructFunc(func(g *jen.Group) {
		g.Id("ID").String().Op("`json:\"id\"`")
		g.Id("Seq").Int64().Op("`json:\"seq\"`").Comment("// Place in the order of creation")
		for _, f := range c.fields {
			f.Min, f.Max = "", "" // they are checked where it is made and changed
			g.Id(f.Go).Add(bare.typeCode(f)).Op("`" + bare.tags(f) + "`").Do(func(s *jen.Statement) {
				if f.Description != "" {
					s.Comment("// " + f.Description)
				}
			})
		}
		g.Id("CreatedAt").Qual("time", "Time").Op("`json:\"created_at\"`")
		g.Id("UpdatedAt").Qual("time", "Time").Op("`json:\"updated_at\"`")
	})
	c.structure(c.fields).enumerations(file)
	file.Comment("// NewState is the state before the first command.")
	file.Func().Id("NewState").Params().Op("*").Id("State").Block(
		jen.Return(jen.Op("&").Id("State").Values(gen.KeyValue(c.all, jen.Map(jen.String()).Op("*").Id(c.typ).Values()))),
	)
	c.helpers(file)
	return file
}

// helpers adds what commands and queries look items up with.
//
//	// known says so if there is no post with an id.
//	func (s *State) known(id string) error {
//		…
//	}
//
//	// after is the place in the order behind all posts up to a number.
//	func (s *State) after(seq int64) int {
//		return sort.Search(len(s.Order), func(i int) bool { return s.Posts[s.Order[i]].Seq > seq })
//	}
func (c crud) helpers(file gen.GoFile) {
	receiver := jen.Id("s").Op("*").Id("State")
	file.Comment(fmt.Sprintf("// known refuses an id that no %s has.", c.one))
	file.Func().Params(receiver.Clone()).Id("known").Params(jen.Id("id").String()).Error().Block(
		jen.If(c.items().Index(jen.Id("id")).Op("==").Nil()).Block(
			jen.Return(jen.Qual("fmt", "Errorf").Call(jen.Lit(fmt.Sprintf("there is no %s %%q; %s_list has those that there are", c.one, c.feature)), jen.Id("id"))),
		),
		jen.Return(jen.Nil()),
	)
	file.Comment("// after is the place in Order behind those whose number is at most seq.")
	file.Func().Params(receiver.Clone()).Id("after").Params(jen.Id("seq").Int64()).Int().Block(
		jen.Return(jen.Qual("sort", "Search").Call(
			jen.Len(jen.Id("s").Dot("Order")),
			jen.Func().Params(jen.Id("i").Int()).Bool().Block(
				jen.Return(c.items().Index(jen.Id("s").Dot("Order").Index(jen.Id("i"))).Dot("Seq").Op(">").Id("seq")),
			),
		)),
	)
}

// items is the field of the state that holds them: s.Posts.
func (c crud) items() *jen.Statement { return jen.Id("s").Dot(c.all) }

func (c crud) file() gen.GoFile {
	file := gen.NewGoFile(c.p.Import(featureDir(c.feature)), c.feature)
	file.ImportName(c.p.Import("core/app"), "app")
	return file
}

func (c crud) checks(file gen.GoFile, command, about string, result *jen.Statement) {
	file.Comment("// Check " + about)
	file.Func().Params(jen.Id("c").Id(command)).Id("Check").Params(jen.Id("ctx").Qual("context", "Context"), jen.Id("s").Op("*").Id("State")).Error().Block(jen.Return(result))
}

// applies adds the method that changes the state, and returns an item.
func (c crud) applies(file gen.GoFile, command, about string, body func(*jen.Group)) {
	file.Comment("// Apply " + about)
	file.Func().Params(jen.Id("c").Id(command)).Id("Apply").Params(jen.Id("s").Op("*").Id("State"), jen.Id("e").Qual(c.p.Import("core/app"), "Event")).Id(c.typ).BlockFunc(body)
}

func (c crud) a() string { return article(c.one) + " " + c.one }

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

func (c crud) updateFields() []gen.Field {
	fields := []gen.Field{c.idField()}
	for _, f := range c.fields {
		f.Optional = true
		fields = append(fields, f)
	}
	return fields
}

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

func (c crud) answers(file gen.GoFile, query, about, output string, body func(*jen.Group)) {
	file.Comment("// Answer " + about)
	file.Func().Params(jen.Id("q").Id(query)).Id("Answer").Params(jen.Id("ctx").Qual("context", "Context"), jen.Id("s").Op("*").Id("State")).Params(jen.Id(output), jen.Error()).BlockFunc(body)
}

func (c crud) get() gen.GoFile {
	file := c.file()
	c.command(file, "Get", "returns one "+c.one+".", nil, c.idField())
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
