package generators

import (
	"encoding/json"
	"fmt"
	"go/types"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// test returns a test that replays an event of an old version. It compares the upgraded command if
// its fields have Go literals, and there is no body that converts them.
func (w *oldVersion) test() gen.GoFile {
	file := newTestFile(w.u.p, w.Dir)
	imported := w.u.p.Import(w.Dir)
	eventlog, apptest := w.u.p.Import("core/app/eventlog"), w.u.p.Import("core/app/apptest")
	var text strings.Builder
	fmt.Fprintf(&text, "// An event of version %d of %s is upgraded to %s.\n", w.Number, w.EventType, w.Type)
	fmt.Fprintf(&text, "func Test%s(t *testing.T) {\n", w.OldType(""))
	data := "data"
	if example, ok := w.Old.Example(); ok {
		data = "[]byte(" + gen.RawString(example) + ")"
	} else {
		file.Import("encoding/json")
		old := file.Ref(imported, w.OldType(""))
		fmt.Fprintf(&text, "data, err := json.Marshal(%s{})\nif err != nil {\nt.Fatal(err)\n}\n", old)
	}
	fmt.Fprintf(&text, "event := %s{Type: %q, Version: %d, Data: %s}\n", file.Ref(eventlog, "Record"), w.EventType, w.Number, data)
	replayed := file.Ref(apptest, "Replayed") + "[" + file.Ref(imported, w.Type) + "](t, event, " + file.Ref(imported, "Feature") + "())\n"
	if want, ok := w.expected(file); ok {
		file.Import("reflect")
		fmt.Fprintf(&text, "got := %sif want := (%s); !reflect.DeepEqual(got, want) {\n", replayed, want)
		fmt.Fprintf(&text, "t.Errorf(\"upgraded %s = %%+v, want %%+v\", got, want)\n}\n", w.OldType(""))
	} else {
		text.WriteString(replayed)
	}
	file.Text(text.String()+"}", "testing")
	return file
}

// expected returns the command that the example of the old version is upgraded to.
func (w *oldVersion) expected(file gen.GoFile) (literal string, ok bool) {
	example, _ := w.Old.Example()
	var data map[string]json.RawMessage
	o := w.command()
	if w.u.isConverted(o) || json.Unmarshal([]byte(example), &data) != nil {
		return "", false
	}
	var set []string
	for _, f := range derive.JSONFields(w.Named.Underlying().(*types.Struct), false) {
		was, _ := w.u.editsOf(o).sourceOf(o, f.Key)
		text := string(data[was.Key])
		if text == "" {
			text = w.u.defaults[f.Var.Pos()]
		}
		if text == "" {
			continue
		}
		value, ok := w.c.literal(file, text, f.Var.Type())
		if !ok || len(f.Path) > 1 {
			return "", false
		}
		set = append(set, f.Var.Name()+": "+value)
	}
	return file.Ref(w.u.p.Import(w.Dir), w.Type) + "{" + strings.Join(set, ", ") + "}", true
}
