package contract_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/contract"
)

// shape returns a shape. Each field is written as NAME TYPE, followed by ? if it is optional.
func shape(fields ...string) contract.Shape {
	s := contract.Shape{}
	for _, text := range fields {
		s.Fields = append(s.Fields, field(text))
	}
	return s
}

func field(text string) contract.Field {
	name, kind, _ := strings.Cut(text, " ")
	kind, optional := strings.CutSuffix(kind, "?")
	kind, quoted := strings.CutSuffix(kind, " quoted")
	return contract.Field{Name: name, Go: strings.ToUpper(name), Type: kind, Optional: optional, Quoted: quoted}
}

// with adds a struct type to a shape.
func with(s contract.Shape, name string, fields ...string) contract.Shape {
	types := map[string][]contract.Field{}
	for known, list := range s.Types {
		types[known] = list
	}
	for _, text := range fields {
		types[name] = append(types[name], field(text))
	}
	s.Types = types
	return s
}

func TestChanges(t *testing.T) {
	for _, test := range []struct {
		name     string
		old, now contract.Shape
		want     string
		breaks   bool
	}{
		{"nothing", shape("url string"), shape("url string"), "", false},
		{"a renamed field", shape("url string"), shape("href string"), "field url was removed, href was added", true},
		{"a new optional field", shape("url string"), shape("url string", "note string?"), "field note was added", false},
		{"a new required field", shape("url string"), shape("url string", "n int"), "field n was added", true},
		{"an optional field that is gone", shape("a string?"), shape(), "field a was removed", true},
		{"optional, then required", shape("a string?"), shape("a string"), "field a is no longer optional", true},
		{"required, then optional", shape("a string"), shape("a string?"), "field a became optional", false},
		{"another type", shape("a string"), shape("a int"), "field a changed from string to int", true},
		{"wider numbers", shape("a int8", "b uint8", "c int32", "d float32"), shape("a int", "b int16", "c float64", "d float64"), "", false},
		{"narrower numbers", shape("a int64"), shape("a int8"), "field a changed from int64 to int8", true},
		{"numbers that lose their sign", shape("a int"), shape("a uint"), "field a changed from int to uint", true},
		{"integers that would be rounded", shape("a int64"), shape("a float64"), "field a changed from int64 to float64", true},
		{"numbers that lose their fractions", shape("a float64"), shape("a int"), "field a changed from float64 to int", true},
		{"a number in a string", shape("a int"), shape("a int quoted"), "field a changed from int to int in a string", true},
		{"a pointer instead of a value", shape("a string"), shape("a *string?"), "field a became optional", false},
		{"anything", shape("a string", "b []int"), shape("a any", "b any"), "", false},
		{"no longer anything", shape("a any"), shape("a string"), "field a changed from any to string", true},
		{"a list instead of an array", shape("a [2]int"), shape("a []int"), "", false},
		{"an array instead of a list", shape("a []int"), shape("a [2]int"), "field a changed from []int to [2]int", true},
		{"bytes are not text", shape("a []byte"), shape("a string"), "field a changed from []byte to string", true},
		{"a map with other keys", shape("a map[string]int"), shape("a map[int]int"), "field a changed from map[string]int to map[int]int", true},
		{"an opaque type", shape("a time.Time"), shape("a ./core.Time"), "field a changed from time.Time to ./core.Time", true},
		{"elements that may have been null", shape("a []*int"), shape("a []int"), "field a changed from []*int to []int", true},
		{"swapped fields",
			contract.Shape{Fields: []contract.Field{{Name: "from", Go: "From", Type: "string"}, {Name: "to", Go: "To", Type: "string"}}},
			contract.Shape{Fields: []contract.Field{{Name: "from", Go: "To", Type: "string"}, {Name: "to", Go: "From", Type: "string"}}},
			"field from is now read as To, which was another field, to is now read as From, which was another field", true},
		{"another Go name",
			contract.Shape{Fields: []contract.Field{{Name: "from", Go: "From", Type: "string"}}},
			contract.Shape{Fields: []contract.Field{{Name: "from", Go: "Source", Type: "string"}}}, "", false},
		{"inside of a struct",
			with(shape("items []Item"), "Item", "url string", "n int"),
			with(shape("items []Thing"), "Thing", "href string", "n int"),
			"field items.url was removed, items.href was added", true},
		{"in a struct that contains itself",
			with(shape("root Node"), "Node", "name string", "below []Node"),
			with(shape("root Node"), "Node", "below []Node"),
			"field root.name was removed", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := contract.Describe(test.old.Changes(test.now))
			if got != test.want || test.old.Breaks(test.now) != test.breaks {
				t.Errorf("got %q, breaks %t; want %q, breaks %t", got, test.old.Breaks(test.now), test.want, test.breaks)
			}
		})
	}
}

func versions(current int, shapes ...contract.Shape) contract.Command {
	c := contract.Command{Version: current, Versions: map[int]contract.Shape{}}
	for i, s := range shapes {
		c.Versions[current-len(shapes)+1+i] = s
	}
	return c
}

func TestUpdate(t *testing.T) {
	url, href := shape("url string"), shape("href string")
	for _, test := range []struct {
		name          string
		recorded, now contract.Command
		mapped        bool
		want          string // what is broken
		versions      []int
	}{
		{"the same", versions(1, url), versions(1, url), false, "", []int{1}},
		{"a broken field", versions(1, url), versions(1, href), false, "field url was removed, href was added", []int{1}},
		{"a new version with its older one", versions(1, url), versions(2, url, href), false, "", []int{1, 2}},
		{"a new version that nothing upgrades to", versions(1, url), versions(2, href), false, "version 1 is recorded, but no type or func Map reads it", []int{1}},
		{"a new version with func Map", versions(1, url), versions(2, href), true, "", []int{1, 2}},
		{"an older version that was edited", versions(2, url, href), versions(2, shape("uri string"), href), false, "field url of version 1 was removed, uri of version 1 was added", []int{1, 2}},
		{"back to an older version", versions(2, url, href), versions(1, url), false, "version 2 is recorded, but the source has version 1", []int{1, 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			followed, changes := test.recorded.Update(test.now, test.mapped)
			if got := contract.Describe(changes); got != test.want {
				t.Errorf("broken: %q, want %q", got, test.want)
			}
			for _, v := range test.versions {
				if _, ok := followed.Versions[v]; !ok || len(followed.Versions) != len(test.versions) {
					t.Errorf("it has the versions %v, want %v", followed.Versions, test.versions)
				}
			}
		})
	}
}

// Parse reads what Encode wrote. Reverting a change keeps later changes.
func TestRevert(t *testing.T) {
	entry := func(text string) json.RawMessage { return json.RawMessage(`{"name":` + text + `}`) }
	before := contract.New()
	before.Tools["kept"] = entry("1")
	after := before.Clone()
	after.Tools["added"], after.Tools["kept"] = entry("2"), entry("3")
	after.Commands["links/create"] = versions(1, with(shape("a Item"), "Item", "n int"))
	now := after.Clone()
	now.Tools["later"], now.Tools["kept"] = entry("4"), entry("5")

	reverted := now.Revert(before, after)
	if reverted.Tools["added"] != nil || string(reverted.Tools["kept"]) != `{"name":5}` || reverted.Tools["later"] == nil || len(reverted.Commands) > 0 {
		t.Errorf(`reverted: %+v; want the tools kept as {"name":5} and later, but not added, and no commands`, reverted)
	}
	if len(now.Tools) != 3 || len(now.Commands) != 1 {
		t.Errorf("the contract that was reverted is now %+v, want three tools and one command as before", now)
	}
	for _, c := range []*contract.Contract{before, after, reverted} {
		text, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		read, err := contract.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := read.Encode(); string(again) != string(text) {
			t.Errorf("read and written again: got %q, want %q", string(again), string(text))
		}
	}
	for _, bad := range []string{"", "{", `{"format":2}`, `{}`, "<<<<<<< HEAD\n{}"} {
		if _, err := contract.Parse([]byte(bad)); err == nil || !strings.Contains(err.Error(), "contract.json") {
			t.Errorf(`%q: %v; want an error containing "contract.json"`, bad, err)
		}
	}
}

func TestBreaking(t *testing.T) {
	tool := func(input, output string) *contract.Contract {
		c := contract.New()
		c.Tools["t"] = json.RawMessage(`{"name":"t","inputSchema":` + input + `,"outputSchema":` + output + `}`)
		return c
	}
	object := func(properties, required string) string {
		return `{"type":"object","properties":{` + properties + `},"required":[` + required + `]}`
	}
	none := object("", "")
	for _, test := range []struct {
		name          string
		before, after *contract.Contract
		want          []string
	}{
		{"a description", tool(object(`"a":{"type":"string","description":"x"}`, ""), none), tool(object(`"a":{"type":"string","description":"y"}`, ""), none), nil},
		{"an optional property", tool(none, none), tool(object(`"a":{"type":"string"}`, ""), none), nil},
		{"a required property", tool(none, none), tool(object(`"a":{"type":"string"}`, `"a"`), none), []string{"tool t: input property a was added and is required"}},
		{"a property that is gone", tool(object(`"a":{"type":"string"}`, ""), none), tool(none, none), []string{"tool t: input property a was removed"}},
		{"a property that became required", tool(object(`"a":{"type":"string"}`, ""), none), tool(object(`"a":{"type":"string"}`, `"a"`), none), []string{"tool t: input property a became required"}},
		{"a narrower type", tool(object(`"a":{"type":"number"}`, ""), none), tool(object(`"a":{"type":"integer"}`, ""), none), []string{"tool t: input property a changed from number to integer"}},
		{"a wider type", tool(object(`"a":{"type":"integer"}`, ""), none), tool(object(`"a":{"type":"number"}`, ""), none), nil},
		{"narrower limits", tool(object(`"a":{"type":"string","maxLength":9}`, ""), none), tool(object(`"a":{"type":"string","minLength":1,"maxLength":5}`, ""), none),
			[]string{"tool t: input property a has a stricter minLength: 1", "tool t: input property a has a stricter maxLength: 5"}},
		{"wider limits", tool(object(`"a":{"type":"string","minLength":1,"maxLength":5}`, ""), none), tool(object(`"a":{"type":"string","maxLength":9}`, ""), none), nil},
		{"another default", tool(object(`"a":{"type":"integer","default":20}`, ""), none), tool(object(`"a":{"type":"integer","default":50}`, ""), none), []string{"tool t: input property a changed its default"}},
		{"fewer values", tool(object(`"a":{"enum":["x","y"]}`, ""), none), tool(object(`"a":{"enum":["x"]}`, ""), none), []string{"tool t: input property a changed its allowed values"}},
		{"more values", tool(object(`"a":{"enum":["x"]}`, ""), none), tool(object(`"a":{"enum":["x","y"]}`, ""), none), nil},
		{"an output with another type", tool(none, object(`"a":{"type":"integer"}`, "")), tool(none, object(`"a":{"type":"string"}`, "")), []string{"tool t: output property a changed from integer to string"}},
		{"an output with a narrower type", tool(none, object(`"a":{"type":"number"}`, "")), tool(none, object(`"a":{"type":"integer"}`, "")), nil},
		{"an output that may be missing", tool(none, object(`"a":{"type":"integer"}`, `"a"`)), tool(none, object(`"a":{"type":"integer"}`, "")), []string{"tool t: output property a became optional"}},
		{"in a definition", tool(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"object","properties":{"b":{"type":"array","items":{"$ref":"#/$defs/A"}}}}}}`, none),
			tool(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"object","properties":{}}}}`, none), []string{"tool t: input property a.b was removed"}},
		{"a tool that is gone", tool(none, none), contract.New(), []string{"tool t was removed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := contract.Breaking(test.before, test.after); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	prompt := func(arguments string) *contract.Contract {
		c := contract.New()
		c.Prompts["p"] = json.RawMessage(`{"name":"p","arguments":[` + arguments + `]}`)
		c.Resources["r"] = json.RawMessage(`{"name":"r","uri":"r://` + arguments[9:10] + `"}`)
		return c
	}
	got := contract.Breaking(prompt(`{"name":"a"}`), prompt(`{"name":"b","required":true}`))
	want := []string{"resource r: uri changed from r://a to r://b", "prompt p: input property a was removed", "prompt p: input property b was added and is required"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An example has a value in each field, also in optional ones unless they have no value.
func TestExample(t *testing.T) {
	item := func(fields ...string) contract.Shape {
		return with(shape(fields...), "Item", "id string", "note *string?", "next *Item?", "parts []Item?", "by_key map[string]Item?")
	}
	for _, test := range []struct {
		shape contract.Shape
		want  string
	}{
		{shape("a string", "b *int?", "c []string?", "d map[string]bool?", "e any?"), `{"a":"example","b":1,"c":["example"],"d":{"example":true},"e":"example"}`},
		{shape("a time.Time?", "b encoding/json.RawMessage?", "c ./x.Odd?", "d map[int]string?"), `{"a":"2026-01-01T00:00:00Z","b":"example"}`},
		{shape("a string", "b ./x.Odd"), ""},
		{item("a *Item?"), `{"a":{"id":"example","note":"example"}}`},
		{item("a map[string]Item"), `{"a":{"example":{"id":"example","note":"example"}}}`},
	} {
		if got, ok := test.shape.Example(); got != test.want || ok != (test.want != "") {
			t.Errorf("%+v: got %s, want %s", test.shape, got, test.want)
		}
	}
}

// ParseType does not panic, and a type that it accepts is compatible with itself.
func FuzzParseType(f *testing.F) {
	for _, text := range []string{"string", "[]byte", "map[string][]*Item", "[3]int", "time.Time", "./features/x.Opt[string]", "map[map[a]b", "["} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := contract.ParseType(text); err != nil {
			return
		}
		s := shape("a " + text)
		s.Fields[0] = contract.Field{Name: "a", Type: text}
		if s.Breaks(s) {
			t.Errorf("%q breaks with itself, want no break", text)
		}
		if example, ok := s.Example(); ok && !json.Valid([]byte(example)) {
			t.Errorf("%q: the example %s is not valid JSON", text, example)
		}
	})
}

// A field's type has the names of its enums, which examples have values of and comparisons ignore.
func TestEnums(t *testing.T) {
	f := contract.Field{Name: "by", Go: "By", Type: "map[string][]string", Named: "map[./desk.Tier][]Level"}
	parsed, err := f.ParseType()
	if err != nil || parsed.Key.Enum != "./desk.Tier" || parsed.Elem.Elem.Enum != "Level" || parsed.Key.Name != "string" {
		t.Errorf(`got %+v (%v); want no error, Key.Enum "./desk.Tier", Elem.Elem.Enum "Level" and Key.Name "string"`, parsed, err)
	}
	level := contract.Field{Name: "level", Go: "Level", Type: "string", Named: "Level"}
	shape := contract.Shape{Fields: []contract.Field{level}, Enums: map[string][]contract.Constant{"Level": {{Go: "Low", Value: "low"}}}}
	if example, _ := shape.Example(); example != `{"level":"low"}` {
		t.Errorf(`the example is %q, want "{\"level\":\"low\"}"`, example)
	}
	level.Named = ""
	if changes := shape.Changes(contract.Shape{Fields: []contract.Field{level}}); len(changes) > 0 {
		t.Errorf("got the changes %+v, want none", changes)
	}
}

// Values that an enum loses are found, unless the enum is gone too.
func TestLostValues(t *testing.T) {
	with := func(name string, values ...string) contract.Shape {
		s := contract.Shape{Enums: map[string][]contract.Constant{}}
		for _, value := range values {
			s.Enums[name] = append(s.Enums[name], contract.Constant{Go: value, Value: value})
		}
		return s
	}
	old := with("Grind", "whole", "espresso", "filter")
	for _, test := range []struct {
		now  contract.Shape
		want []string
	}{
		{with("Grind", "filter"), []string{"espresso", "whole"}},
		{with("Grind", "whole", "espresso", "filter", "moka"), nil},
		{with("Other", "filter"), nil},
	} {
		if got := old.LostValues(test.now); !slices.Equal(got, test.want) {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
