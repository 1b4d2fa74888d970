package mcpcli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// Arguments are found in every place of a schema.
func TestInput(t *testing.T) {
	for _, test := range []struct {
		schema, want string
		open         bool
	}{
		{`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["a"]}`, "[b=string] a=integer", false},
		{`{"properties":{"x":{"type":["string","null"]}},"additionalProperties":true}`, "[x=string]", true},
		{`{"properties":{"x":{"anyOf":[{"type":"number"},{"type":"null"}]}},"additionalProperties":{"type":"string"}}`, "[x=number]", true},
		{`{"properties":{"x":{"oneOf":[{"const":"a"},{"const":1},{"type":"null"}]}}}`, "[x=a|1|null]", false},
		{`{"properties":{"x":{"$ref":"#/definitions/a~1b"}},"definitions":{"a/b":{"enum":[true]}}}`, "[x=true]", false},
		{`{"properties":{"x":{"type":"array","items":{"type":"array","items":{"type":"number"}}}}}`, "[x=array…]", false},
		{`{"properties":{"x":{"allOf":[{"$ref":"#/$defs/a"}]}},"$defs":{"a":{"type":"integer"}}}`, "[x=integer]", false},
		{`{"properties":{"x":{"type":"string","pattern":"(?=invalid in Go)"}}}`, "[x=string]", false},
		{`{"properties":{"x":{"$ref":"#/properties/x"}}}`, "[x=any]", false},
		{`{"properties":{"x":{"$ref":"https://example.com"},"y":true,"z":{"type":"string","enum":["1","2","3","4","5","6","7"]}}}`, "[x=any] [y=any] [z=1|2|3|4|5|…]", false},
		{`{"allOf":[{"properties":{"x":{}}}]}`, "", true},
		{`{"properties":[],"required":"x"}`, "", true},
		{`{}`, "", true}, {`true`, "", true}, {`null`, "", true}, {``, "", true}, {`{"additionalProperties":false}`, "", true},
	} {
		in := readInput(json.RawMessage(test.schema))
		if got := in.arguments(); got != test.want || in.open != test.open {
			t.Errorf("readInput(%s) = %q, open %t, want %q, open %t", test.schema, got, in.open, test.want, test.open)
		}
	}
}

// A schema that branches into itself takes no time to speak of.
func TestHostileInput(t *testing.T) {
	branches := strings.Repeat(`{"$ref":"#/properties/x"},`, 50)
	begin := time.Now()
	readInput(json.RawMessage(`{"properties":{"x":{"anyOf":[` + strings.TrimSuffix(branches, ",") + `],"items":{"$ref":"#/properties/x"}}}}`))
	many := `{"$defs":{"x":{"anyOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/x"}]}},"properties":{"p":{}`
	var properties strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&properties, `,"p%d":{"$ref":"#/$defs/x"}`, i)
	}
	if in := readInput(json.RawMessage(many + properties.String() + "}}")); len(in.properties) != 1001 {
		t.Errorf("got %d properties, want 1001", len(in.properties))
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v, want at most %v", took, 5*time.Second)
	}
}

// Any schema and any arguments result in an object or an error.
func FuzzArguments(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"number"},"l":{"type":"array","items":{"enum":["x"]}}},"required":["a"]}`, "a=1", "l=x", "l=y")
	f.Add(`{"properties":{"a":{"$ref":"#/properties/a"}}}`, "a=[", "-", "=")
	f.Add(`{"properties":{"a":{"oneOf":[{"const":1,"title":"one"}],"default":{}}}}`, "a=1", "a=2", "")
	f.Add(`{`, "\xbd=", "\x98=", "z=1") // both would become U+FFFD
	f.Fuzz(func(t *testing.T, schema, one, two, three string) {
		tool := &mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)}
		raw, err := ParseArguments(tool, []string{one, two, three}, strings.NewReader(`{"z":1}`))
		if err == nil && (strictjson.Check(raw) != nil || raw[0] != '{') {
			t.Errorf("got %s", raw)
		}
		var out bytes.Buffer
		if err := (&Printer{out: &out}).Tools("", []mcp.Tool{*tool}); err != nil {
			t.Error(err)
		}
		in := readInput(tool.InputSchema)
		in.suggest([]string{one}, two)
	})
}
