package jsonschema_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/civil"
	"github.com/petrock/petrock/core/internal/jsonschema"
)

type level string

func (level) SchemaEnum() []any { return []any{level("low"), level("high")} }

type own struct{}

func (own) MarshalJSON() ([]byte, error)  { return []byte("1"), nil }
func (*own) UnmarshalJSON(_ []byte) error { return nil }

type money struct{ own }

func (money) JSONSchema() string { return `{"type": "string", "pattern": "^[0-9]+$"}` }

type badSchema struct{}

func (badSchema) JSONSchema() string { return `{"type": 7}` }

type refSchema struct{}

func (refSchema) JSONSchema() string { return `{"$ref": "#/$defs/a", "$defs": {"a": {}}}` }

type byPointer struct{}

func (*byPointer) MarshalText() ([]byte, error) { return nil, nil }

type tree struct {
	Name  string  `json:"name"`
	Below []*tree `json:"below"`
}

func TestInfer(t *testing.T) {
	const node = `{"type":"object","properties":{"name":{"type":"string"},"below":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["name","below"],"additionalProperties":false}`
	for _, test := range []struct {
		of        any
		direction jsonschema.Direction
		want      string
	}{
		{struct{}{}, jsonschema.Input, `{"type":"object","additionalProperties":false}`},
		{struct {
			Level level `json:"level"`
		}{}, jsonschema.Input, `{"type":"object","properties":{"level":{"type":"string","enum":["low","high"]}},"required":["level"],"additionalProperties":false}`},
		{struct {
			Level *level `json:"level" schema:"description=Mine"`
		}{}, jsonschema.Input, `{"type":"object","properties":{"level":{"anyOf":[{"type":"string","enum":["low","high"]},{"type":"null"}],"description":"Mine"}},"additionalProperties":false}`},
		{struct {
			Mode string        `json:"mode" schema:"enum=fast|deep,default=fast"`
			Wait time.Duration `json:"wait" schema:"description='How long.'"`
		}{}, jsonschema.Input, `{"type":"object","properties":{"mode":{"type":"string","enum":["fast","deep"],"default":"fast"},"wait":{"type":"integer","description":"How long (in nanoseconds)"}},"required":["wait"],"additionalProperties":false}`},
		{struct {
			Day  civil.Date      `json:"day" schema:"default=2026-11-19"`
			Wait civil.Duration  `json:"wait" schema:"default=90m"`
			Rest *civil.Duration `json:"rest" schema:"description='How long.'"`
			At   time.Time       `json:"at" schema:"default=2026-11-19T12:00:00Z"`
		}{}, jsonschema.Input, `{"type":"object","properties":{"day":{"type":"string","format":"date","default":"2026-11-19"},` +
			`"wait":{"type":["string","integer"],"description":"(such as 1h30m)","default":"90m"},"rest":{"type":["string","integer","null"],"description":"How long (such as 1h30m)"},` +
			`"at":{"type":"string","format":"date-time","default":"2026-11-19T12:00:00Z"}},"additionalProperties":false}`},
		{struct {
			To   []string            `json:"to" schema:"max=2,format=email"`
			Tags map[string][]string `json:"tags" schema:"pattern='^[a-z]+$'"`
			Day  civil.Date          `json:"day"`
			Wait []civil.Duration    `json:"wait"`
		}{}, jsonschema.Output, `{"type":"object","properties":{"to":{"type":"array","items":{"type":"string","format":"email"},"maxItems":2},` +
			`"tags":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string","pattern":"^[a-z]+$"}}},"day":{"type":"string","format":"date"},` +
			`"wait":{"type":"array","items":{"type":"string"}}},"required":["to","tags","day","wait"],"additionalProperties":false}`},
		{money{}, jsonschema.Output, `{"type":"string","pattern":"^[0-9]+$"}`},
		{tree{}, jsonschema.Input, strings.TrimSuffix(node, "}") + `,"$defs":{"tree":` + node + `}}`},
		{map[level]int{}, jsonschema.Output, `{"type":"object","additionalProperties":{"type":"integer"},"propertyNames":{"enum":["low","high"]}}`},
		{[]*int{}, jsonschema.Output, `{"type":"array","items":{"type":["integer","null"]}}`},
		{json.RawMessage{}, jsonschema.Output, `{}`},
		{struct {
			L []int
			M map[string][]int
			B []byte
		}{}, jsonschema.Output, `{"type":"object","properties":{"L":{"type":"array","items":{"type":"integer"}},"M":{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer"}}},"B":{"type":["string","null"],"contentEncoding":"base64"}},"required":["L","M","B"],"additionalProperties":false}`},
	} {
		got, err := jsonschema.Infer(reflect.TypeOf(test.of), test.direction)
		if err != nil || string(got) != test.want {
			t.Errorf("%T: %v\ngot  %s\nwant %s", test.of, err, got, test.want)
		}
		if _, err := jsonschema.Compile(got); err != nil {
			t.Errorf("%T: %v", test.of, err)
		}
	}
}

// Types without a schema are errors that have the type, the field and the remedy.
func TestInferErrors(t *testing.T) {
	type deep struct{ C chan int }
	for _, test := range []struct {
		of        any
		direction jsonschema.Direction
		want      string
	}{
		{struct{ Deep []deep }{}, jsonschema.Input, `field Deep.C: chan int has no JSON form; use another type, or exclude the field with json:"-"`},
		{struct{ F func() }{}, jsonschema.Output, `field F: func() has no JSON form; use another type, or exclude the field with json:"-"`},
		{struct{ E error }{}, jsonschema.Output, "field E: error is an interface, so its JSON form is unknown; use a struct, or any"},
		{struct{ M map[bool]int }{}, jsonschema.Input, "field M: a map with keys of type bool has no JSON form; use string keys"},
		{struct{ O own }{}, jsonschema.Input, "field O: jsonschema_test.own has its own JSON encoding; give it a method JSONSchema() string, or use another type"},
		{own{}, jsonschema.Output, "infer output schema of jsonschema_test.own: jsonschema_test.own has its own JSON encoding"},
		{struct{ P byPointer }{}, jsonschema.Output, "field P: MarshalText of jsonschema_test.byPointer has a pointer receiver"},
		{struct{ B badSchema }{}, jsonschema.Input, "field B: schema of jsonschema_test.badSchema: type: must be string, number"},
		{struct{ R refSchema }{}, jsonschema.Input, "field R: schema of jsonschema_test.refSchema: is part of another schema, so it cannot have $ref, $defs or $id"},
		{struct {
			A int `schema:"default=x"`
		}{}, jsonschema.Input, "field A: schema tag: default x: not of type int"},
		{struct {
			A []struct {
				B int `schema:"default=1"`
			}
		}{}, jsonschema.Input, "field A.B: schema tag: only fields of the input itself, and of structs in it, can have a default; set it in the function"},
		{struct {
			A *int `schema:"default=1"`
		}{}, jsonschema.Input, "field A: schema tag: default applies to strings, numbers, booleans, times, dates and durations only, and not to pointers to them"},
		{struct {
			A civil.Date `schema:"default=tomorrow"`
		}{}, jsonschema.Input, "field A: schema tag: default tomorrow: \"tomorrow\" is not a date; write one such as 2026-11-19"},
		{struct {
			A []int `schema:"format=email"`
		}{}, jsonschema.Input, "field A: schema tag: format applies to strings, and lists and maps of strings, only"},
		{struct {
			A int `schema:"pattern=a"`
		}{}, jsonschema.Input, "field A: schema tag: pattern applies to strings, and lists and maps of strings, only"},
		{struct {
			A int `schema:"enum=1|x"`
		}{}, jsonschema.Input, `field A: schema tag: enum: "x" is not of type integer`},
		{struct {
			A string `schema:"enum=a|b,default=c"`
		}{}, jsonschema.Input, `field A: schema tag: default c: must be one of "a", "b", got "c"`},
		{reflect.Zero(reflect.StructOf([]reflect.StructField{{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"it's"`}})).Interface(), jsonschema.Input, `field A: encoding/json does not accept the name "it's" in its json tag; use letters, digits, - and _`},
	} {
		if _, err := jsonschema.Infer(reflect.TypeOf(test.of), test.direction); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%T: got  %v\nwant %s", test.of, err, test.want)
		}
	}
}
