package generators

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// note returns a type with a field of every supported kind.
func note() shape {
	return shape{path: "example.com/notes", name: "Note", strings: []string{"Mood"}, fields: []gen.StructField{
		{Name: "ID", Type: "string", Tag: `json:"id"`},
		{Name: "N", Type: "int64", Tag: `json:"n,omitempty"`},
		{Name: "Size", Type: "*int64", Tag: `json:"size,omitempty"`},
		{Name: "Small", Type: "uint8", Tag: `json:"small,omitempty"`},
		{Name: "Price", Type: "*float64", Tag: `json:"price,omitempty"`},
		{Name: "Mood", Type: "*Mood", Tag: `json:"mood,omitempty"`},
		{Name: "Tags", Type: "[]string", Tag: `json:"tags,omitzero"`},
		{Name: "Old", Type: "[]string", Tag: `json:"old,omitempty"`},
		{Name: "Deep", Type: "map[string][]Mood", Tag: `json:"deep,omitzero"`},
		{Name: "At", Type: "time.Time", Tag: `json:"at,omitzero"`},
		{Name: "Wait", Type: "*time.Duration", Tag: `json:"wait,omitempty"`},
		{Name: "Raw", Type: "json.RawMessage", Tag: `json:"raw,omitzero"`},
		{Name: "Any", Type: "any", Tag: `json:"any,omitempty"`},
		{Name: "Data", Type: "[]byte", Tag: `json:"data,omitzero"`},
		{Name: "Plain", Type: "string", Tag: `json:",omitempty"`},
		{Name: "Hidden", Type: "Other", Tag: `json:"-"`},
		{Name: "private", Type: "Other"},
		{Name: "Other", Type: "Other", Tag: `json:"other,omitzero"`},
	}}
}

// Objects become Go values that encode to them. Others, for which want is empty, stay JSON text.
func TestLiteral(t *testing.T) {
	for _, test := range []struct{ object, want string }{
		{`{"id":"a"}`, `notes.Note{ID: "a"}`},
		{`{"id":"","n":3,"size":4,"small":255,"price":5}`, "notes.Note{\n\tID:    \"\",\n\tN:     3,\n\tSize:  new(int64(4)),\n\tSmall: 255,\n\tPrice: new(5.0),\n}"},
		{`{"id":"a","mood":"good","tags":[],"deep":{"b":["x"],"a":[]}}`, "notes.Note{\n\tID:   \"a\",\n\tMood: new(notes.Mood(\"good\")),\n\tTags: []string{},\n\tDeep: map[string][]notes.Mood{\n\t\t\"a\": []notes.Mood{},\n\t\t\"b\": []notes.Mood{\"x\"},\n\t},\n}"},
		{`{"id":"a","at":"2026-01-02T03:04:05.5Z","wait":90000000000,"data":"aGk="}`, "notes.Note{\n\tID:   \"a\",\n\tAt:   time.Date(2026, 1, 2, 3, 4, 5, 500000000, time.UTC),\n\tWait: new(90 * time.Second),\n\tData: []byte(\"hi\"),\n}"},
		{`{"id":"a","wait":1500}`, `notes.Note{ID: "a", Wait: new(time.Duration(1500))}`},
		{`{"id":"a","raw":{"b":[1]},"any":"x"}`, "notes.Note{ID: \"a\", Raw: json.RawMessage(`{\"b\":[1]}`), Any: \"x\"}"},
		{`{"id":"a","Plain":"b"}`, `notes.Note{ID: "a", Plain: "b"}`},
		{`{}`, ""},                                     // a required field is missing
		{`{"id":null}`, ""},                            // null is not a zero value
		{`{"id":"a","size":null}`, ""},                 // nor is it nothing
		{`{"id":1}`, ""},                               // another type
		{`{"id":"a","n":0}`, ""},                       // omitempty would leave it out
		{`{"id":"a","n":1.0}`, ""},                     // written otherwise
		{`{"id":"a","n":1e2}`, ""},                     //
		{`{"id":"a","small":256}`, ""},                 // too large
		{`{"id":"a","small":-1}`, ""},                  //
		{`{"id":"a","price":1.50}`, ""},                //
		{`{"id":"a","price":-0}`, ""},                  // Go has no literal for it
		{`{"id":"a","old":[]}`, ""},                    //
		{`{"id":"a","tags":["x",null]}`, ""},           //
		{`{"id":"a","deep":{"a":{}}}`, ""},             //
		{`{"id":"a","at":"0001-01-01T00:00:00Z"}`, ""}, // omitzero would leave it out
		{`{"id":"a","at":"2026-01-02T03:04:05+01:00"}`, ""},
		{`{"id":"a","at":"yesterday"}`, ""},
		{`{"id":"a","wait":"1s"}`, ""},
		{`{"id":"a","data":"aGk"}`, ""},
		{`{"id":"a","any":null}`, ""},
		{`{"id":"a","any":[1]}`, ""},
		{`{"id":"a","plain":"b"}`, ""}, // keys are exact
		{`{"id":"a","more":"b"}`, ""},  // unknown
		{`{"id":"a","other":{}}`, ""},  // a type of which nothing is known
		{`{"id":"a","id":"b"}`, ""},    // twice
		{`{"id":"\ud800"}`, ""},        // no text
		{`["a"]`, ""}, {`"a"`, ""}, {`null`, ""}, {``, ""},
	} {
		got := ""
		if made, ok := note().literal(json.RawMessage(test.object)); ok {
			got = fmt.Sprintf("%#v", made)
		}
		if got != test.want {
			t.Errorf("%s is %s, want %s", test.object, got, test.want)
		}
	}
	for _, odd := range []gen.StructField{
		{Type: "Embedded"}, {Name: "A", Type: "[4]int"}, {Name: "A", Type: "int", Tag: `json:",string"`},
		{Name: "A", Type: "Other", Tag: `json:"a,omitempty"`}, {Name: "A", Type: "time.Time", Tag: `json:"a,omitempty"`}, {Name: "A", Type: "posts.ID"}, {Name: "A", Type: "not a type"},
	} {
		s := shape{path: "example.com/notes", name: "Note", fields: []gen.StructField{odd}}
		for _, object := range []string{`{}`, `{"A":1}`, `{"A":[1,2,3,4]}`} {
			if made, ok := s.literal(json.RawMessage(object)); ok {
				t.Errorf("%+v: %s is %#v, want no literal", odd, object, made)
			}
		}
	}
	if _, ok := (shape{path: "example.com/notes", name: "note"}).literal(json.RawMessage(`{}`)); ok {
		t.Error("a value of a type that the test cannot name has a literal, want none")
	}
}

// A literal is a Go expression that has every key of the object.
func FuzzLiteral(f *testing.F) {
	f.Add(`{"id":"a","n":3,"size":-4,"mood":"good","tags":["\\u0000"],"deep":{"a":["b"]},"wait":-1,"raw":[1],"any":{"x":[1e3]},"data":"/w=="}`)
	f.Add(`{"id":"a","at":"2026-01-02T03:04:05.5Z","price":1e-7,"small":0,"Plain":"\\n"}`)
	f.Fuzz(func(t *testing.T, object string) {
		made, ok := note().literal(json.RawMessage(object))
		if !ok {
			return
		}
		expr, err := parser.ParseExpr(fmt.Sprintf("%#v", made))
		if err != nil {
			t.Fatalf("%s is %#v: %v", object, made, err)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(object), &members); err != nil || len(expr.(*ast.CompositeLit).Elts) != len(members) {
			t.Errorf("%s is %#v (%v); want %d elements and no error", object, made, err, len(members))
		}
	})
}

// Samples of all fields are Go values that encode to the original JSON.
func TestLiteralsEncodeToTheirJSON(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	file := gen.NewGoFile("example.com/literals", "main")
	var print []jen.Code
	var want []string
	for i := range 60 {
		s := structure{StructCode: gen.StructCode{Prefix: fmt.Sprintf("T%d", i), Logged: i%2 == 0}, name: fmt.Sprintf("T%d", i), about: "is one."}
		for j := range 1 + random.IntN(6) {
			fields, err := gen.Project{Module: "example.com/literals"}.ParseFields("", []string{randomField(random, j)})
			if err != nil {
				t.Fatal(err)
			}
			s.fields = append(s.fields, fields...)
		}
		s.write(file)
		for _, value := range []func(gen.Field) (any, bool){requiredSample, anySample} {
			object, err := encodeFields(s.fields, value)
			if err != nil {
				t.Fatal(err)
			}
			made, ok := s.shape("example.com/literals").literal(object)
			if !ok {
				if s.Logged {
					t.Errorf("there is no literal of %s, want one: a logged type with the fields %+v can hold it", object, s.fields)
				}
				continue // omitempty leaves out empty lists
			}
			print, want = append(print, made), append(want, string(object))
		}
	}
	file.Func().Id("main").Params().Block(
		jen.For(jen.List(jen.Id("_"), jen.Id("v")).Op(":=").Range().Index().Any().Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, print...)).Block(
			jen.List(jen.Id("text"), jen.Err()).Op(":=").Qual("encoding/json", "Marshal").Call(jen.Id("v")),
			jen.Qual("fmt", "Println").Call(jen.String().Call(jen.Id("text")), jen.Err()),
		),
	)
	source, err := file.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	civil, err := os.ReadFile("../core/civil/civil.go")
	err = errors.Join(err, os.MkdirAll(filepath.Join(dir, "core", "civil"), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"main.go": string(source), "core/civil/civil.go": string(civil), "go.mod": "module example.com/literals\n\ngo 1.26.0\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, source)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(want) || len(want) < 100 {
		t.Fatalf("%d values are printed in %d lines", len(want), len(lines))
	}
	for i, line := range lines {
		got, failed := strings.CutSuffix(line, " <nil>")
		if !failed || !equalJSON(t, got, want[i]) {
			t.Errorf("value %d encodes to %s, want %s <nil>", i, line, want[i])
		}
	}
}

// randomField returns a valid field.
func randomField(random *rand.Rand, number int) string {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	kind := one("string", "int", "int64", "float", "bool", "time", "date", "duration", "uri", "email", "uuid", "bytes", "any", "enum(a b,c)")
	limits := map[string]string{"string": ":3..9", "int": ":-5..-2", "int64": ":9223372036854775807..", "float": ":0.1..1e300"}[kind]
	for range random.IntN(3) {
		kind, limits = one("[]", "map[string]")+kind, one("", ":2..4", ":0..0")
	}
	return "f" + strconv.Itoa(number) + "_x:" + kind + one("", "?") + one("", limits)
}

// equalJSON reports whether two texts are the same JSON.
func equalJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var values [2]any
	for i, text := range []string{a, b} {
		decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
		decoder.UseNumber()
		if err := decoder.Decode(&values[i]); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// The input of another component is a value of its type, if the type is known.
func TestExamplesCallOtherComponents(t *testing.T) {
	asked := 0
	p := gen.Project{Name: "hello", Module: "example.com/hello", Packages: map[string]string{"features/posts": "posts", "features/client": "client"}}
	p.Feature = func(name string) *gen.Feature {
		asked++
		create := gen.FeatureTool{Type: "Create", Name: name + "_create", Fields: []gen.StructField{
			{Name: "Title", Type: "string", Tag: `json:"title"`}, {Name: "Mood", Type: "*Mood", Tag: `json:"mood,omitempty"`},
		}}
		return &gen.Feature{Name: name, Dir: "features/" + name, Strings: map[string][]string{"Mood": nil}, Commands: []gen.FeatureTool{create}}
	}
	draft, err := Command(p, CommandInput{Name: "posts/publish", Fields: []string{"id"}, Body: "return PublishOutput{}", Examples: []gen.Step{
		{Tool: "posts_create", Input: map[string]json.RawMessage{"title": json.RawMessage(`"a"`)}},
		{Tool: "client_create", Input: map[string]json.RawMessage{"title": json.RawMessage(`"b"`), "mood": json.RawMessage(`"good"`)}},
		{Tool: "posts_create", Input: map[string]json.RawMessage{"title": json.RawMessage(`7`)}, Error: "invalid arguments"},
		{Tool: "posts_unknown"},
		{Input: map[string]json.RawMessage{"id": json.RawMessage(`"id1"`)}, Output: json.RawMessage(`{}`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	test := string(draft.Files[1].Text)
	for _, want := range []string{
		`client.Given("posts_create", posts.Create{Title: "a"})`,
		`client.Given("client_create", clientfeature.Create{Title: "b", Mood: new(clientfeature.Mood("good"))})`,
		`clientfeature "example.com/hello/features/client"`,
		"{\"posts_create\", mcptest.Example{Name: \"example 3\", Input: `{\"title\":7}`, Error: \"invalid arguments\"}},",
		"{\"posts_unknown\", mcptest.Example{Name: \"example 4\", Input: \"{}\", Output: mcptest.AnyOutput{}}},",
		`{"posts_publish", mcptest.Example{Name: "example 5", Input: posts.Publish{ID: "id1"}, Output: posts.PublishOutput{}}},`,
	} {
		if !strings.Contains(test, want) {
			t.Errorf("the test has no %s:\n%s", want, test)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, want 2", asked)
	}
	if slices.Contains(strings.Fields(test), "client.Create{Title:") {
		t.Errorf(`the test is %q, want it without "client.Create{Title:": a variable hides the package`, test)
	}
}

// Fields have types of the package: those that they name, and string types with the values of an
// enum.
func TestFieldsUseTypesOfTheFeature(t *testing.T) {
	p := gen.Project{Name: "desk", Module: "desk", Feature: func(name string) *gen.Feature {
		return &gen.Feature{Name: name, Dir: "features/" + name, Strings: map[string][]string{"Priority": {"low", "high"}, "State": nil}}
	}}
	draft, err := Command(p, CommandInput{
		Name:   "tickets/open",
		Fields: []string{"priority:enum(high,low)", "mood:enum(good,bad)?", "first:Priority?"},
		Output: []string{"ticket:Ticket", "others:[]Ticket?"},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(draft.Files[0].Text)), " ")
	for _, want := range []string{"Priority Priority `json:\"priority\"`", "Mood *OpenMood `", "First *Priority `", "Ticket Ticket `json:\"ticket\"`", "Others []Ticket `json:\"others,omitzero\"`"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, draft.Files[0].Text)
		}
	}
}
