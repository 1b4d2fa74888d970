package jsonschema_test

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/petrock/petrock/core/internal/jsonschema"
)

type base struct {
	ID string `json:"id"`
}

type listInput struct {
	base
	Label string          `json:"label"`
	Limit int             `json:"limit" schema:"default=20"`
	Tags  []string        `json:"tags,omitempty"`
	When  time.Time       `json:"when,omitzero"`
	From  netip.Addr      `json:"from,omitzero"`
	Raw   json.RawMessage `json:"raw,omitempty"`
	Any   any             `json:"any,omitempty"`
	Own   own             `json:"own,omitempty"`
	Price money           `json:"price,omitempty"`
	Quote int             `json:"quote,omitempty,string"`
	Data  []byte          `json:"data,omitempty"`
	Ratio float32         `json:"ratio,omitempty"`
	Inner *struct {
		Deep bool `json:"deep"`
	} `json:"inner,omitempty"`
	By map[string]item `json:"by,omitempty"`
}

type item struct {
	Name string `json:"name"`
}

func TestCheckType(t *testing.T) {
	list, out := reflect.TypeFor[listInput](), reflect.TypeFor[item]()
	for _, test := range []struct {
		name      string
		of        reflect.Type
		direction jsonschema.Direction
		schema    string
		want      string
	}{
		{"optional and not derived", out, jsonschema.Input, `{"type":"object","properties":{"name":{"type":"string"}},"additionalProperties":false}`, ""},

		{"everything allowed", list, jsonschema.Input, `{}`, ""},
		{"narrower", list, jsonschema.Input, `{"type":"object","properties":{"label":{"type":"string","enum":["a"]}},"required":["label"]}`, ""},
		{"opaque types", list, jsonschema.Input, `{"properties":{"raw":{"type":"object","properties":{"x":{}}},"any":{"type":"integer"},"own":{"type":"array"},"price":{"type":"number"}}}`, ""},
		{"text", list, jsonschema.Input, `{"properties":{"when":{"type":"string"},"from":{"type":"string"},"data":{"type":"string"},"quote":{"type":"string"}}}`, ""},
		{"nullable", list, jsonschema.Input, `{"properties":{"inner":{"anyOf":[{"type":"object","properties":{"deep":{"type":"boolean"}},"additionalProperties":false},{"type":"null"}]},"tags":{"type":["array","null"]}}}`, ""},
		{"numbers", list, jsonschema.Input, `{"properties":{"limit":{"type":"number","default":20},"ratio":{"type":"integer"}}}`, ""},
		{"forbidden property", list, jsonschema.Input, `{"properties":{"gone":false}}`, ""},
		{"alternatives", list, jsonschema.Input, `{"oneOf":[{"properties":{"id":{}},"additionalProperties":false},{"properties":{"label":{}},"additionalProperties":false}]}`, ""},
		{"references", reflect.TypeFor[tree](), jsonschema.Input, `{"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"name":{"type":"string"},"below":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"additionalProperties":false}}}`, ""},
		{"pointer", reflect.TypeFor[*item](), jsonschema.Output, `{"type":"object","properties":{"name":{"type":"string"}},"additionalProperties":false}`, ""},
		{"scalar", reflect.TypeFor[int](), jsonschema.Output, `{"type":"integer"}`, ""},

		{"mistyped", out, jsonschema.Input, `{"type":"object","properties":{"nmae":{"type":"string"}},"additionalProperties":false}`, `item has "name", its input schema has "nmae"`},
		{"unknown property", list, jsonschema.Input, `{"properties":{"tag":{}}}`, `listInput does not have "tag", its input schema does`},
		{"unknown property in an alternative", list, jsonschema.Input, `{"anyOf":[{"properties":{"tag":{}}},{"required":["label"]}]}`, `listInput does not have "tag", its input schema does`},
		{"unknown property in all of several", list, jsonschema.Input, `{"allOf":[{"properties":{"tag":{}}}]}`, `listInput does not have "tag", its input schema does`},
		{"unknown required", list, jsonschema.Input, `{"required":["tag"]}`, `listInput does not have "tag", its input schema does`},
		{"missing property", out, jsonschema.Output, `{"type":"object","additionalProperties":false}`, `item has "name", its output schema does not`},
		{"type", list, jsonschema.Input, `{"properties":{"limit":{"type":"string"}}}`, `listInput.limit is an integer, its input schema says a string`},
		{"type of an element", list, jsonschema.Input, `{"properties":{"tags":{"items":{"type":"integer"}}}}`, `listInput.tags[] is a string, its input schema says an integer`},
		{"type of text", list, jsonschema.Input, `{"properties":{"from":{"type":["object","array"]}}}`, `listInput.from is a string, its input schema says an array or an object`},
		{"type of a quoted number", list, jsonschema.Input, `{"properties":{"quote":{"type":"integer"}}}`, `listInput.quote is a string, its input schema says an integer`},
		{"type of the whole", reflect.TypeFor[[]int](), jsonschema.Output, `{"type":"object"}`, `the type is an array, its output schema says an object`},
		{"no alternative", list, jsonschema.Input, `{"properties":{"limit":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `listInput.limit is an integer, its input schema has no alternative for it`},
		{"inside a struct", list, jsonschema.Input, `{"properties":{"inner":{"properties":{"depth":{}}}}}`, `listInput.inner does not have "depth", its input schema does`},
		{"inside a map", list, jsonschema.Input, `{"properties":{"by":{"additionalProperties":{"properties":{"nmae":{}}}}}}`, `listInput.by[] does not have "nmae", its input schema does`},
		{"inside a recursion", reflect.TypeFor[tree](), jsonschema.Input, `{"$ref":"#/$defs/tree","$defs":{"tree":{"properties":{"name":{},"below":{"items":{"$ref":"#/$defs/tree"}},"above":{}}}}}`, `tree does not have "above", its input schema does`},
		{"another default", list, jsonschema.Input, `{"properties":{"limit":{"default":10}}}`, `listInput.limit has the default 20, its input schema has 10`},
		{"no default", list, jsonschema.Input, `{"properties":{"limit":{"type":"integer"}}}`, `listInput.limit has the default 20, its input schema has none`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := jsonschema.Compile([]byte(test.schema))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := s.CheckType(test.of, test.direction, false); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// An inferred schema fits the type that it was inferred from.
func TestInferredFits(t *testing.T) {
	for _, of := range []reflect.Type{reflect.TypeFor[tree](), reflect.TypeFor[item](), reflect.TypeFor[map[level][]*tree](), reflect.TypeFor[money]()} {
		for _, d := range []jsonschema.Direction{jsonschema.Input, jsonschema.Output} {
			text, err := jsonschema.Infer(of, d)
			if err != nil {
				t.Fatal(err)
			}
			s, err := jsonschema.Compile(text)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.CheckType(of, d, true); err != nil {
				t.Errorf("%v %v: %v", of, d, err)
			}
		}
	}
}

// A derived schema requires what the Go type requires.
func TestCheckRequired(t *testing.T) {
	type input struct {
		Plain   string  `json:"plain"`
		Pointer *string `json:"pointer"`
		Omitted string  `json:"omitted,omitempty"`
		Preset  int     `json:"preset" schema:"default=1"`
		Opaque  money   `json:"opaque,omitempty" schema:"max=9"` // its kind is not known
	}
	const properties = `{"type":"object","properties":{"plain":{"type":"string"},"pointer":{"type":["string","null"]},"omitted":{"type":"string"},"preset":{"type":"integer","default":1},"opaque":{"type":"integer","maximum":9}},"additionalProperties":false,"required":[`
	for _, test := range []struct {
		direction      jsonschema.Direction
		required, want string
	}{
		{jsonschema.Input, `"plain"`, ""},
		{jsonschema.Input, ``, "input.plain is required, its input schema says optional"},
		{jsonschema.Input, `"plain","pointer"`, "input.pointer is optional, its input schema says required"},
		{jsonschema.Input, `"plain","omitted"`, "input.omitted is optional, its input schema says required"},
		{jsonschema.Input, `"plain","preset"`, "input.preset is optional, its input schema says required"},
		{jsonschema.Output, `"plain","pointer","preset"`, ""},
		{jsonschema.Output, `"plain","preset"`, "input.pointer is required, its output schema says optional"},
	} {
		s, err := jsonschema.Compile([]byte(properties + test.required + "]}"))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := s.CheckType(reflect.TypeFor[input](), test.direction, true); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%v, required %s: got %q, want %q", test.direction, test.required, got, test.want)
		}
	}
}
