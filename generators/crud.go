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

// crudFeature is a feature that keeps items, with all that is done to them.
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

// newCRUD makes the names that the feature needs.
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

// goName is a word as a type, empty if it is none.
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

// structure is the type of items, with some of their fields.
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

// file begins a file of the feature.
func (c crud) file() gen.GoFile {
	file := gen.NewGoFile(c.p.Import(featureDir(c.feature)), c.feature)
	file.ImportName(c.p.Import("core/app"), "app")
	return file
}
