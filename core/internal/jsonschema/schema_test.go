package jsonschema

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/petrock/petrock/core/strictjson"
)

// contacts is a schema that combines schemas in many ways.
const contacts = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

// A check is a value against a schema. An empty want means valid; otherwise it is the
// text of the error.
type check struct{ name, schema, data, want string }

func run(t *testing.T, checks []check) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			s := mustCompile(t, c.schema)
			err := s.Validate([]byte(c.data))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s against %s:\n got %q\nwant %q", c.data, c.schema, got, c.want)
			}
		})
	}
}

func mustCompile(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := Compile([]byte(text))
	if err != nil {
		t.Fatalf("compiling %s: %v", text, err)
	}
	return s
}

func TestContacts(t *testing.T) {
	run(t, []check{
		{"by phone", contacts, `{"name":"N","contactMethod":"phone","phone":"1"}`, ""},
		{"by email", contacts, `{"contactMethod":"email","email":"a@b"}`, ""},
		{"no method", contacts, `{"email":"a@b","address":{"street":"S","city":"C"}}`, ""},
		{"method phone without phone", contacts, `{"contactMethod":"phone","email":"a@b"}`, "phone: required but missing"},
		{"method email without email", contacts, `{"contactMethod":"email","phone":"1"}`, "email: required but missing"},
		{"neither", contacts, `{}`, "phone: required but missing (closest of 2 alternatives)\nemail: required but missing"},
		{"bad address", contacts, `{"email":"a@b","address":{"city":5}}`, "address.city: must be a string, got a number"},
		{"unknown", contacts, `{"email":"a@b","Name":"N"}`,
			`Name: is not a known property; known: name, address, contactMethod, phone, email`},
		{"bad method", contacts, `{"email":"a@b","contactMethod":"fax"}`, `contactMethod: must be one of "phone", "email", got "fax"`},
		{"no object", contacts, `[]`, "must be an object, got an array"},
	})
}

func TestAnnotations(t *testing.T) {
	mustCompile(t, " {\"x-order\": [1,2],\n\t\"title\":\"T\", \"default\":{\"a\":1.0}, \"unknown\":{\"type\":7}} \n")
}

func TestRootIsObject(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type":"object"}`:             true,
		`{"type":"\u006fbject"}`:        true,
		`{"type":["object"]}`:           false,
		`{"type":["object","null"]}`:    false,
		`{"type":"array"}`:              false,
		`{"properties":{"type":{}}}`:    false,
		`{"allOf":[{"type":"object"}]}`: false,
		`{}`:                            false,
		`true`:                          false,
	} {
		if got := mustCompile(t, text).RootIsObject(); got != want {
			t.Errorf("RootIsObject of %s = %v, want %v", text, got, want)
		}
	}
}

func TestInputThatIsNotJSON(t *testing.T) {
	for _, text := range []string{
		``, ` `, `{"a":1`, `{} {}`, `{"a":1,"a":2}`, `[[{"a":1,"\u0061":2}]]`, strings.Repeat("[", 300), "\"\xff\"",
	} {
		want := strictjson.Check([]byte(text))
		if want == nil {
			t.Fatalf("%q is valid JSON, want it invalid", text)
		}
		run(t, []check{{text, `true`, text, "parse JSON: " + want.Error()}})
		if _, err := Compile([]byte(text)); !errors.As(err, new(*strictjson.Error)) || err.Error() != "parse schema: "+want.Error() {
			t.Errorf("Compile(%q) = %v, want a *strictjson.Error with the message parse schema: %v", text, err, want)
		}
	}
	run(t, []check{{"space around", `{"type":"integer"}`, " \n1\t ", ""}})
}

func TestErrorListsTen(t *testing.T) {
	s := mustCompile(t, `{"items":{"type":"string"}}`)
	err := s.Validate([]byte(`[1,2,3,4,5,6,7,8,9,10,11,12,"x"]`))
	if err == nil {
		t.Fatal("want an error")
	}
	if text := err.Error(); strings.Count(text, "\n") != 10 || !strings.HasSuffix(text, "\n[9]: must be a string, got a number\nand 2 more problems") {
		t.Errorf(`got %q; want ten problems and "[9]: must be a string, got a number\nand 2 more problems" at the end`, text)
	}
}

func TestSchemaIsSharedByGoroutines(t *testing.T) {
	s := mustCompile(t, contacts)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				if err := s.Validate([]byte(`{"email":"e"}`)); err != nil {
					t.Error(err)
				}
				if s.Validate([]byte(`{"email":1}`)) == nil {
					t.Error("a number passed for an email")
				}
			}
		})
	}
	group.Wait()
}

func TestChoices(t *testing.T) {
	s, err := Compile([]byte(`{"type":"object","properties":{"a":{"enum":["x","\u0079",1]},"b":{"type":"string"},"c":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"a": {"x", "y"}, "b": nil, "c": nil}
	for _, p := range s.Properties() {
		if !slices.Equal(p.Choices(), want[p.Name]) {
			t.Errorf("Choices() of %s = %q, want %q", p.Name, p.Choices(), want[p.Name])
		}
		delete(want, p.Name)
	}
	if len(want) > 0 {
		t.Errorf("there are no properties for %q", want)
	}
	if s, err = Compile([]byte(`true`)); err != nil {
		t.Fatal(err)
	}
	if got := s.Properties(); got != nil {
		t.Errorf("the properties of the schema true are %v, want none", got)
	}
}

func TestDefinitionName(t *testing.T) {
	for name, want := range map[string]string{
		"Node":                                    "Node",
		"example.com/hello.Node":                  "Node",
		"Page[example.com/my-model/v2.Item]":      "Page_Item",
		"Pair[string,[]gopkg.in/yaml.v3.Node]":    "Pair_string_Node",
		"Pair[byte,interface {}]":                 "Pair_uint8_any",
		"Pair[uint8,any]":                         "Pair_uint8_any",
		"List[a.com/b.Pair[rune,*a.com/c.Thing]]": "List_Pair_int32_Thing",
	} {
		if got := definitionName(name); got != want {
			t.Errorf("definitionName(%q) = %q, want %q", name, got, want)
		}
	}
}
