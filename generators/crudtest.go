package generators

import (
	"encoding/json"
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// crudTests are the tests of the commands and queries of a feature that keeps items, in the making. Each stands next to
// what it tests, and calls nothing but that and create, so that other components can be destroyed.
type crudTests struct {
	crud
	created      *jen.Statement // input of create: the required fields
	createdWhole *jen.Statement // input of create: all fields
	wrong        *jen.Statement // input that create refuses; nil if it refuses none
	wrongField   string
	changes      *jen.Statement // input of update

	required, whole, changed []jen.Code // fields of the items that created and createdWhole make, and of the first one after changes
}

func (c crud) tests() ([]source, error) {
	t, err := c.newTests()
	if err != nil {
		return nil, err
	}
	return []source{
		{"create_test.go", t.create()},
		{"update_test.go", t.update()},
		{"delete_test.go", t.remove()},
		{"get_test.go", t.get()},
		{"list_test.go", t.list()},
	}, nil
}

func (c crud) newTests() (t crudTests, err error) {
	t.crud = c
	input := func(name string, fields []gen.Field, value func(gen.Field) (any, bool)) *jen.Statement {
		object, failed := encodeFields(fields, value)
		if failed != nil {
			err = failed
		}
		return t.input(structure{name: name, prefix: c.typ, fields: fields, logged: true}, object)
	}
	item := func(value func(gen.Field) (any, bool)) []jen.Code {
		object, failed := encodeFields(c.fields, value)
		set, ok := c.structure(c.fields).shape(t.path()).members(object)
		if failed == nil && !ok {
			failed = fmt.Errorf("write %s %s as a Go value", c.typ, object)
		}
		if failed != nil {
			err = failed
		}
		return set
	}
	other, value := c.other()
	t.created, t.createdWhole = input("Create", c.fields, requiredSample), input("Create", c.fields, anySample)
	if bad, value, ok := wrongField(c.fields); ok {
		t.wrong, t.wrongField = input("Create", c.fields, samplesWith(bad, value)), bad.Name
	}
	t.changes = input("Update", c.updateFields(), func(f gen.Field) (any, bool) {
		switch f.Name {
		case "id":
			return "id1", true
		case other.Name:
			return value, true
		}
		return nil, false
	})
	t.required, t.whole, t.changed = item(requiredSample), item(anySample), item(samplesWith(other, value))
	return t, err
}

// other is a field that update changes, with its new value.
func (c crud) other() (gen.Field, any) {
	for _, f := range c.fields {
		if value, ok := f.Other(); ok {
			return f, value
		}
	}
	return c.fields[0], c.fields[0].Sample()
}

func (t crudTests) path() string { return t.p.Import(featureDir(t.feature)) }

// input is the input of a command: a Go value, or JSON text if no Go value encodes to it.
func (t crudTests) input(s structure, object json.RawMessage) *jen.Statement {
	if made, ok := s.shape(t.path()).literal(object); ok {
		return made
	}
	return gen.RawString(string(object))
}

// byID is the input of a command or query that has an id alone: posts.Get{ID: "id1"}.
func (t crudTests) byID(name, id string) *jen.Statement {
	return jen.Qual(t.path(), name).Values(gen.KeyValue("ID", jen.Lit(id)))
}

func (t crudTests) page(limit, after int) *jen.Statement {
	set := []jen.Code{gen.KeyValue("Limit", jen.Lit(limit))}
	if after > 0 {
		set = append(set, gen.KeyValue("After", jen.Lit(after)))
	}
	return jen.Qual(t.path(), "List").Values(set...)
}

// paged is the output of list: items, which are variables, and the number that the next page follows, if there is one.
func (t crudTests) paged(next int, items ...jen.Code) *jen.Statement {
	set := []jen.Code{gen.KeyValue("Items", jen.Index().Qual(t.path(), t.typ).Values(items...))}
	if next > 0 {
		set = append(set, gen.KeyValue("Next", jen.Lit(next)))
	}
	return jen.Qual(t.path(), "ListOutput").Values(set...)
}

// item adds a variable that holds an item, by the events that created it and changed it last.
func (t crudTests) item(g *jen.Group, variable string, created, updated int, fields []jen.Code) {
	at := func(seq int) *jen.Statement {
		return jen.Qual(t.p.Import("core/app/apptest"), "Time").Call(jen.Lit(seq))
	}
	set := []jen.Code{gen.KeyValue("ID", jen.Lit(fmt.Sprintf("id%d", created))), gen.KeyValue("Seq", jen.Lit(created))}
	set = append(set, fields...)
	set = append(set, gen.KeyValue("CreatedAt", at(created)), gen.KeyValue("UpdatedAt", at(updated)))
	g.Id(variable).Op(":=").Qual(t.path(), t.typ).Custom(gen.Multiline(), set...)
}

func (t crudTests) given(g *jen.Group, command string, inputs ...*jen.Statement) {
	for _, input := range inputs {
		g.Id("client").Dot("Given").Call(jen.Lit(t.feature+"_"+command), input)
	}
}

func (t crudTests) checks(g *jen.Group, name string, all ...step) {
	checks(g, t.p.Import("core/mcptest"), all, checkTool(t.feature+"_"+name))
}

func (t crudTests) none() string { return "there is no " + t.one }

// test adds a test to a file, which begins with a client of the feature.
func (t crudTests) test(file gen.GoFile, name string, body func(*jen.Group)) gen.GoFile {
	file.Func().Id(name).Params(jen.Id("t").Op("*").Qual("testing", "T")).BlockFunc(func(g *jen.Group) {
		serveFeature(t.p, g, t.feature)
		body(g)
	})
	return file
}

func (t crudTests) create() gen.GoFile {
	all := []step{
		{name: "required fields", input: t.created, output: jen.Id("first")},
		{name: "all fields", input: t.createdWhole, output: jen.Id("second")},
	}
	if t.wrong != nil {
		all = append(all, step{name: "wrong " + t.wrongField, input: t.wrong, error: "invalid arguments"})
	}
	return t.test(featureTest(t.p, t.feature), "TestCreate", func(g *jen.Group) {
		t.item(g, "first", 1, 1, t.required)
		t.item(g, "second", 2, 2, t.whole)
		t.checks(g, "create", all...)
	})
}

func (t crudTests) update() gen.GoFile {
	return t.test(featureTest(t.p, t.feature), "TestUpdate", func(g *jen.Group) {
		t.given(g, "create", t.created)
		t.item(g, "changed", 1, 2, t.changed)
		t.checks(g, "update",
			step{name: "one field", input: t.changes, output: jen.Id("changed")},
			step{name: "unknown id", input: t.byID("Update", "id9"), error: t.none()},
		)
	})
}

// remove has two tests: the second goes if list is destroyed.
func (t crudTests) remove() gen.GoFile {
	file := t.test(featureTest(t.p, t.feature), "TestDelete", func(g *jen.Group) {
		t.given(g, "create", t.created)
		t.item(g, "first", 1, 1, t.required)
		t.checks(g, "delete",
			step{name: "delete", input: t.byID("Delete", "id1"), output: jen.Id("first")},
			step{name: "delete again", input: t.byID("Delete", "id1"), error: t.none()},
		)
	})
	file.Line()
	return t.test(file, "TestListAfterDelete", func(g *jen.Group) {
		t.given(g, "create", t.created, t.created)
		t.given(g, "delete", t.byID("Delete", "id1"))
		t.item(g, "second", 2, 2, t.required)
		t.checks(g, "list",
			step{name: "the rest", input: t.page(20, 0), output: t.paged(0, jen.Id("second"))},
			step{name: "after the deleted one", input: t.page(20, 1), output: t.paged(0, jen.Id("second"))},
		)
	})
}

func (t crudTests) get() gen.GoFile {
	return t.test(featureTest(t.p, t.feature), "TestGet", func(g *jen.Group) {
		t.given(g, "create", t.created)
		t.item(g, "first", 1, 1, t.required)
		t.checks(g, "get",
			step{name: "get", input: t.byID("Get", "id1"), output: jen.Id("first")},
			step{name: "unknown id", input: t.byID("Get", "id9"), error: t.none()},
		)
	})
}

func (t crudTests) list() gen.GoFile {
	first, second := jen.Id("first"), jen.Id("second")
	return t.test(featureTest(t.p, t.feature), "TestList", func(g *jen.Group) {
		t.given(g, "create", t.created, t.created)
		t.item(g, "first", 1, 1, t.required)
		t.item(g, "second", 2, 2, t.required)
		t.checks(g, "list",
			step{name: "default limit", input: gen.RawString(`{}`), output: t.paged(0, first, second)},
			step{name: "first page", input: t.page(1, 0), output: t.paged(1, first)},
			step{name: "last page", input: t.page(1, 1), output: t.paged(0, second)},
			step{name: "limit too small", input: t.page(0, 0), error: "invalid arguments"},
			step{name: "limit too large", input: t.page(101, 0), error: "invalid arguments"},
		)
	})
}
