package generators

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// A crud describes a feature that stores items. Its exported fields are for crud.tmpl.
type crud struct {
	p       gen.Project
	Feature string
	All     string // field of State that holds the items: Posts
	One     string // an item in plain words: post
	Type    string // type of an item: Post
	Fields  []gen.Field

	// Fields with values, for tests.
	Required, Whole     []jen.Code // of an item
	OneChanged, Changed []jen.Code // of an item after an update of one field, and of all
	OneChange, Changes  []jen.Code // of these updates
}

func crudFeature(p gen.Project, draft gen.Draft, in FeatureInput, fields []gen.Field) (gen.Draft, error) {
	if len(fields) == 0 {
		return gen.Draft{}, errors.New("crud needs the fields of an item, such as title:string")
	}
	c, err := newCRUD(p, in, fields)
	if err != nil {
		return gen.Draft{}, err
	}
	sources, err := c.sources()
	if err != nil {
		return gen.Draft{}, err
	}
	if draft.Files, err = renderFiles(featureDir(c.Feature), sources...); err != nil {
		return gen.Draft{}, err
	}
	draft.Next = []string{
		fmt.Sprintf("Call it: go run ./cmd/%s call %s_list.", c.p.Name, c.Feature),
		fmt.Sprintf("The type %s is in %s/state.go.", c.Type, featureDir(c.Feature)),
	}
	return draft, nil
}

func newCRUD(p gen.Project, in FeatureInput, fields []gen.Field) (crud, error) {
	c := crud{p: p, Feature: in.Name, Fields: fields, All: "Items"}
	if err := gen.CheckWireName(in.Name+"_create", p.Name); err != nil {
		return c, err
	}
	if name, err := gen.ParseFieldName(in.Name, p.Initialisms...); err == nil && !strings.EqualFold(name.Go(), "IDs") {
		c.All = name.Go()
	}
	text := in.Item
	if text == "" {
		text = "item"
		one, _ := gen.Singular(in.Name)
		if name, err := gen.ParseName(one, p.Initialisms...); err == nil && !isCRUDName(name.Go()) {
			text = one
		}
	}
	name, err := gen.ParseName(text, p.Initialisms...)
	if err != nil {
		return c, err
	}
	c.One, c.Type = name.Human(), name.Go()
	if isCRUDName(c.Type) {
		return c, fmt.Errorf("the type name %s, from item %q, is reserved in a feature; choose another name", c.Type, in.Item)
	}
	for _, f := range fields {
		if slices.Contains([]string{"ID", "Seq", "CreatedAt", "UpdatedAt"}, f.Go) {
			return c, fmt.Errorf("field %q: every item already has this field; omit yours, or rename it", f.Name)
		}
		if !f.Optional && !f.Type.HasSample() {
			return c, fmt.Errorf("field %q: crud writes tests, which need a value of %s, and petrock knows none; make it optional with ?, or add it to the commands later", f.Name, f.Type)
		}
	}
	return c, c.setValues()
}

// isCRUDName reports whether a feature with crud uses a Go name for something other than its items.
func isCRUDName(name string) bool {
	return slices.Contains([]string{"Create", "Update", "Delete", "Get", "List", "ListOutput"}, name) ||
		derive.Place{Kind: derive.Feature}.IsReserved(name)
}

func (c crud) structure(fields []gen.Field) structure {
	return structure{StructCode: gen.StructCode{Prefix: c.Type, Logged: true}, name: c.Type, fields: fields}
}

// sources returns the files of the feature, from the templates in crud.tmpl.
func (c crud) sources() ([]source, error) {
	templates, err := template.ParseFS(Files, "crud.tmpl")
	if err != nil {
		return nil, err
	}
	app := c.p.Import("core/app")
	var sources []source
	add := func(name string, file gen.GoFile, imports ...string) {
		var text strings.Builder
		err = errors.Join(err, templates.ExecuteTemplate(&text, name, crudFile{c, file}))
		file.Text(text.String(), imports...)
		sources = append(sources, source{name, file})
	}
	state := c.file()
	state.PackageComment("// Package " + c.Feature + " stores every " + c.One + " in the event log.")
	add("state.go", state, "fmt", "sort", "time")
	add("create.go", c.file(), "context", app)
	add("update.go", c.file(), "context", "errors", "reflect", app)
	add("delete.go", c.file(), "context", "slices", app)
	add("get.go", c.file(), "context")
	add("list.go", c.file(), "context")
	test := []string{"testing", c.p.Import("core/app/apptest"), c.p.Import("core/mcptest")}
	for _, name := range []string{"create", "update", "delete", "get"} {
		add(name+"_test.go", featureTest(c.p, c.Feature), test...)
	}
	add("list_test.go", featureTest(c.p, c.Feature), append(test, app)...)
	return sources, err
}

func (c crud) path() string { return c.p.Import(featureDir(c.Feature)) }

func (c crud) file() gen.GoFile { return NewFile(c.p, featureDir(c.Feature)) }

// setValues sets the values that the tests use.
func (c *crud) setValues() (err error) {
	set := func(fields []gen.Field, value func(gen.Field) (any, bool)) []jen.Code {
		object, failed := encodeFields(fields, value)
		members, ok := c.structure(fields).shape(c.path()).members(object)
		if failed == nil && !ok {
			failed = fmt.Errorf("no value of %s encodes to %s", c.Type, object)
		}
		err = errors.Join(err, failed)
		return members
	}
	hasOther := func(f gen.Field) bool { _, ok := f.OtherSample(); return ok }
	one := max(0, slices.IndexFunc(c.Fields, hasOther))
	c.Required = set(c.Fields, requiredSample)
	c.Whole = set(c.Fields, anySample)
	c.OneChanged = set(c.Fields, func(f gen.Field) (any, bool) {
		if f.Name == c.Fields[one].Name {
			return otherSample(f)
		}
		return requiredSample(f)
	})
	c.Changed = set(c.Fields, otherSample)
	id := []jen.Code{gen.KeyValue("ID", jen.Lit("id1"))}
	c.OneChange = append(id, set(c.changeable()[one:one+1], otherSample)...)
	c.Changes = append(id, set(c.changeable(), otherSample)...)
	return err
}

// changeable returns the fields of an update, without the ID.
func (c crud) changeable() []gen.Field {
	fields := slices.Clone(c.Fields)
	for i := range fields {
		fields[i].Optional, fields[i].Default = true, nil
	}
	return fields
}

// Key returns the JSON name of the field of State that holds the items.
func (c crud) Key() string { return strings.ToLower(c.All) }

// HasOptional reports whether an item has optional fields.
func (c crud) HasOptional() bool {
	return slices.ContainsFunc(c.Fields, func(f gen.Field) bool { return f.Optional })
}

// A crudFile is a file of a feature that stores items, for crud.tmpl.
type crudFile struct {
	crud
	file gen.GoFile
}

// Package returns the name of the feature's package in a test.
func (f crudFile) Package() string { return f.file.Import(f.path()) }

// Stored returns the declarations of the fields in the state. Create and Update check limits and
// patterns.
func (f crudFile) Stored() string {
	fields := slices.Clone(f.Fields)
	for i := range fields {
		fields[i].Min, fields[i].Max, fields[i].Pattern, fields[i].Default = "", "", "", nil
	}
	return f.structure(fields).members(f.file)
}

// Given returns the declarations of the fields of Create.
func (f crudFile) Given() string { return f.structure(f.Fields).members(f.file) }

// Changeable returns the declarations of the fields of Update, without the ID.
func (f crudFile) Changeable() string { return f.structure(f.changeable()).members(f.file) }

// Enums returns the declarations of the types of the fields.
func (f crudFile) Enums() string { return f.structure(f.Fields).enums() }

// Literal returns a value of a type of the feature.
func (f crudFile) Literal(typ string, set []jen.Code) string {
	return f.file.Code(shape{path: f.path(), name: typ}.with(set))
}

// Item returns an item. created and updated are the numbers of its events.
func (f crudFile) Item(created, updated int, set []jen.Code) string {
	at := func(event int) jen.Code { return jen.Qual(f.p.Import("core/app/apptest"), "Time").Call(jen.Lit(event)) }
	return f.Literal(f.Type, slices.Concat(
		[]jen.Code{gen.KeyValue("ID", jen.Lit(fmt.Sprintf("id%d", created))), gen.KeyValue("Seq", jen.Lit(created))},
		set,
		[]jen.Code{gen.KeyValue("CreatedAt", at(created)), gen.KeyValue("UpdatedAt", at(updated))},
	))
}
