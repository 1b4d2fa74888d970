package generators

import (
	"encoding/json"
	"fmt"
	"go/types"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// test returns a test that replays an event of an old version. It compares the upgraded command if its fields
// have Go literals, and there is no body that converts them.
func (u *upgrade) test(o *gen.OldStruct) gen.GoFile {
	v := o.Of
	imported, pkg := u.p.Import(v.Dir), u.p.Package(v.Dir)
	file := gen.NewGoFile(imported+"_test", pkg+"_test")
	app := u.p.Import("core/app")
	file.ImportName(imported, pkg)
	file.ImportName(app, "app")
	file.ImportName(app+"/apptest", "apptest")
	data := "data"
	if example, ok := v.Old.Example(); ok {
		data = "[]byte(" + gen.RawString(example) + ")"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "// An event of version %d of %s is upgraded to %s.\n", v.Number, v.EventType, v.Type)
	fmt.Fprintf(&text, "func Test%s(t *testing.T) {\n", o.Name)
	if data == "data" {
		file.Use("encoding/json")
		old := file.Ref(imported, o.Name)
		fmt.Fprintf(&text, "data, err := json.Marshal(%s{})\nif err != nil {\nt.Fatal(err)\n}\n", old)
	}
	fmt.Fprintf(&text, "event := %s{Type: %q, Version: %d, Data: %s}\n", file.Ref(app, "Record"), v.EventType, v.Number, data)
	replayed := file.Ref(app+"/apptest", "Replayed") + "[" + file.Ref(imported, v.Type) + "](t, event, " + file.Ref(imported, "Feature") + "())\n"
	if want, ok := u.converter(o).expected(file); ok {
		file.Use("reflect")
		fmt.Fprintf(&text, "got := %sif want := (%s); !reflect.DeepEqual(got, want) {\n", replayed, want)
		text.WriteString("t.Errorf(\"got %+v, want %+v\", got, want)\n}\n")
	} else {
		text.WriteString(replayed)
	}
	file.Text(text.String()+"}", "testing")
	return file
}

// expected returns the command that the example of the old version is upgraded to.
func (c *converter) expected(file gen.GoFile) (literal string, ok bool) {
	v := c.of.Of
	example, _ := v.Old.Example()
	var data map[string]json.RawMessage
	if c.of == c.converted || json.Unmarshal([]byte(example), &data) != nil {
		return "", false
	}
	var set []string
	for _, f := range derive.JSONFields(c.of.Current.Underlying().(*types.Struct), false) {
		was, _ := c.sourceOf(f.Key)
		text := string(data[was.Name])
		if text == "" {
			text, _ = c.defaultOf(f.Key)
		}
		if text == "" {
			continue
		}
		value, ok := c.literal(file, v.Dir, text, f.Var.Type())
		if !ok || len(f.Path) > 1 {
			return "", false
		}
		set = append(set, f.Var.Name()+": "+value)
	}
	return file.Ref(c.p.Import(v.Dir), v.Type) + "{" + strings.Join(set, ", ") + "}", true
}
