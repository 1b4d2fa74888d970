package generators

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/types"
	"slices"
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// test returns a test that replays an event of the old version and compares the upgraded command.
func (u *upgrade) test(imported, pkg string) gen.GoFile {
	file := gen.NewGoFile(imported+"_test", pkg+"_test")
	file.ImportName(imported, pkg)
	file.ImportName(u.p.Import("core/app"), "app")
	file.ImportName(u.p.Import("core/app/apptest"), "apptest")
	app, before, data := u.p.Import("core/app"), "", "data"
	event, want := u.expected(imported)
	if want != nil {
		data = "[]byte(" + gen.RawString(event) + ")"
	} else {
		want = jen.Id("old").Dot("Upgrade").Call()
		old := file.Code(jen.Qual(imported, u.OldType("")).Values(u.exampleFields()...))
		before = "old := " + old + "\ndata, err := json.Marshal(old)\nif err != nil {\nt.Fatal(err)\n}\n"
		file.Use("encoding/json")
	}
	file.Text(fmt.Sprintf(`// An event of version %d of %s is upgraded to %s.
func Test%s(t *testing.T) {
	%sevent := %s{Type: %[2]q, Version: %[1]d, Data: %[7]s}
	got := %[8]s[%[9]s](t, event, %[10]s())
	if want := %[11]s; !reflect.DeepEqual(got, want) {
		t.Errorf("got %%+v, want %%+v", got, want)
	}
}`, u.Version, u.EventType, u.Type, u.OldType(""), before, file.Ref(app, "Record"), data,
		file.Ref(app+"/apptest", "Replayed"), file.Ref(imported, u.Type), file.Ref(imported, "Feature"), file.Code(want)), "reflect", "testing")
	return file
}

// expected returns an event with a value in each field, and the command that it is upgraded to. Optional
// fields whose values have no Go literal are left out. The command is nil if another field has none.
func (u *upgrade) expected(imported string) (event string, want *jen.Statement) {
	var without []string
	for {
		event, ok := u.Old.Example(without...)
		var data map[string]json.RawMessage
		if !ok || u.body != nil || json.Unmarshal([]byte(event), &data) != nil {
			return "", nil
		}
		set, unwritable := u.expectedFields("", u.Old.Fields, u.Struct, data)
		switch {
		case unwritable == "":
			return event, jen.Parens(jen.Qual(imported, u.Type).Values(set...))
		case slices.Contains(without, unwritable) || data[unwritable] == nil:
			return "", nil
		}
		without = append(without, unwritable)
	}
}

// expectedFields returns the fields of a struct that a recorded struct with the fields is upgraded to. data is
// the JSON of the recorded one. If a value has no Go literal, unwritable is the name of its field in the
// event, or of the new field if the value is a default.
func (u *upgrade) expectedFields(prefix string, fields []contract.Field, structure *types.Struct, data map[string]json.RawMessage) (set []jen.Code, unwritable string) {
	for _, f := range derive.JSONFields(structure, false) {
		var value json.RawMessage
		var old contract.Type
		name := f.Key
		if was, found := u.sourceOf(prefix, fields, f.Key); found {
			name, value = was.Name, data[was.Name]
			old, _ = contract.ParseType(was.Type) // draft has reported errors
		}
		if fallback, has := u.defaultOf(prefix + f.Key); has && value == nil {
			if value = json.RawMessage(fallback); !json.Valid(value) {
				value = json.RawMessage(strconv.Quote(fallback))
			}
		}
		if value == nil {
			continue
		}
		literal, ok := u.expectedValue(value, old, f.Var.Type())
		if !ok || len(f.Path) > 1 {
			return nil, name
		}
		set = append(set, gen.KeyValue(f.Path[0], literal))
	}
	return set, ""
}

// expectedValue returns the Go value that a value of a recorded type is upgraded to, and false if it has no
// literal.
func (u *upgrade) expectedValue(value json.RawMessage, old contract.Type, target types.Type) (*jen.Statement, bool) {
	if old.Kind == contract.Pointer {
		old = *old.Elem
	}
	var list []json.RawMessage
	switch t := types.Unalias(target).Underlying().(type) {
	case *types.Pointer:
		if old.Kind == contract.Struct {
			members, ok := u.expectedMembers(value, old.Name, t.Elem())
			return jen.Op("&").Add(u.typeOf(t.Elem()), members), ok
		}
	case *types.Struct:
		if old.Kind == contract.Struct {
			members, ok := u.expectedMembers(value, old.Name, target)
			return u.typeOf(target).Add(members), ok
		}
	case *types.Slice:
		if old.Kind == contract.Slice && old.Elem.Kind == contract.Struct && json.Unmarshal(value, &list) == nil {
			var items []jen.Code
			for _, item := range list {
				members, ok := u.expectedMembers(item, old.Elem.Name, t.Elem())
				if !ok {
					return nil, false
				}
				items = append(items, members)
			}
			return u.typeOf(target).Values(items...), true
		}
	}
	return u.literalOf(value, target)
}

// expectedMembers returns the literal of a struct that a recorded one is upgraded to, without its type.
func (u *upgrade) expectedMembers(value json.RawMessage, name string, target types.Type) (*jen.Statement, bool) {
	var data map[string]json.RawMessage
	structure, ok := target.Underlying().(*types.Struct)
	if !ok || json.Unmarshal(value, &data) != nil || data == nil {
		return nil, false
	}
	set, unwritable := u.expectedFields(u.Old.PathOf(name)+".", u.Old.Types[name], structure, data)
	return jen.Values(set...), unwritable == ""
}

// exampleFields returns the fields of the old version that have a value with a Go literal.
func (u *upgrade) exampleFields() []jen.Code {
	var set []jen.Code
	for _, was := range u.Old.Fields {
		var data map[string]json.RawMessage
		event, ok := contract.Shape{Fields: []contract.Field{was}, Types: u.Old.Types}.Example()
		written, err := parser.ParseExpr(was.Type)
		if !ok || was.Quoted || err != nil || json.Unmarshal([]byte(event), &data) != nil || data[was.Name] == nil {
			continue
		}
		if value, ok := (shape{}).value(written, data[was.Name], false); ok {
			set = append(set, gen.KeyValue(recordedGo(was), value.code))
		}
	}
	return set
}
