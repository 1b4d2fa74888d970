package jsonschema

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/strictjson"
)

// manySchemas returns schemas that together have every keyword.
func manySchemas() []string {
	return []string{
		contacts,
		`{"type":["object","array"],"minProperties":1,"maxProperties":3,"propertyNames":{"pattern":"^[a-z]+$"},"patternProperties":{"^x":{"type":"integer"}},"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"required":["d"]}},"additionalProperties":{"$ref":"#"}}`,
		`{"prefixItems":[{"type":"integer"}],"items":{"$ref":"#"},"contains":{"type":"number"},"minContains":1,"maxContains":3,"minItems":1,"maxItems":5,"uniqueItems":true}`,
		`{"minimum":-1,"maximum":100,"exclusiveMinimum":-1.5,"exclusiveMaximum":1e2,"multipleOf":0.1,"minLength":1,"maxLength":4,"pattern":"^.?","format":"date-time"}`,
		`{"enum":[1,"a",null,[1,{"a":2}],{"b":[1.50,"x"]}],"format":"date"}`,
		`{"anyOf":[{"type":"number"},{"oneOf":[{"const":"a"},{"items":{"$ref":"#"}},{"properties":{"a":{"$ref":"#"}}}]}],"not":{"const":3}}`,
		`{"if":{"type":"object"},"then":{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}},"else":{"type":["string","null"]}}`,
	}
}

func FuzzValidate(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":"x"}`, `{"a":1.0,"b":"","c":null}`, `{"a":1e999999999,"b":"\ud83d\ude00"}`, `{"A":1}`, `[]`, `[1,1.0,[2]]`, ``, `{"a":1,"a":2}`,
		`{"a":{"a":{"a":{"a":1}}}}`, `"2020-01-01T00:00:00Z"`, `[[[[[1]]]]]`, `{"contactMethod":"phone","phone":"1"}`, `-0.0e-7`, `{"b":"x","a":15E-1}`,
	} {
		f.Add([]byte(seed))
	}
	var schemas []*Schema
	for _, text := range manySchemas() {
		schemas = append(schemas, mustCompile(f, text))
	}
	plain := mustCompile(f, `{"type":"object","properties":{"a":{"type":"integer","minimum":0,"maximum":10},"b":{"type":"string","maxLength":3},"c":{"type":["null","boolean"]}},"required":["a","b"],"additionalProperties":false}`)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, s := range schemas {
			checkInvariants(t, s, data)
		}
		err := checkInvariants(t, plain, data)
		if strictjson.Check(data) == nil && fitsPlain(data) != (err == nil) {
			t.Errorf("%q: got %v; the model accepts it: %t", data, err, fitsPlain(data))
		}
	})
}

// checkInvariants validates a value, and checks what must hold for every result.
func checkInvariants(t *testing.T, s *Schema, data []byte) error {
	err := s.Validate(data)
	if err == nil {
		if strictjson.Check(data) != nil {
			t.Errorf("%q is not JSON, yet valid against %s", data, s.root.part.raw)
		}
		return nil
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) > maxProblems+1 || slices.Contains(lines, "") {
		t.Fatalf("%q against %s: the error has %d lines, %q; want at most %d, none empty", data, s.root.part.raw, len(lines), err, maxProblems+1)
	}
	if again := s.Validate(data); again == nil || again.Error() != err.Error() {
		t.Errorf("%q against %s: first %q, then %v; want the same error", data, s.root.part.raw, err, again)
	}
	return err
}

// fitsPlain implements the schema plain of FuzzValidate by hand.
func fitsPlain(data []byte) bool {
	var members map[string]any
	if json.Unmarshal(data, &members) != nil && !overflows(data) || members == nil {
		return false
	}
	var raw map[string]json.RawMessage
	_ = json.Unmarshal(data, &raw)
	for key := range raw {
		if key != "a" && key != "b" && key != "c" {
			return false
		}
	}
	var b string
	if raw["b"] == nil || raw["b"][0] != '"' || json.Unmarshal(raw["b"], &b) != nil || len([]rune(b)) > 3 {
		return false
	}
	if c := string(raw["c"]); c != "" && c != "null" && c != "true" && c != "false" {
		return false
	}
	return smallInteger(string(raw["a"]))
}

// overflows reports whether data is an object with a number that overflows a float64.
func overflows(data []byte) bool {
	var raw map[string]json.RawMessage
	return json.Unmarshal(data, &raw) == nil
}

// smallInteger reports whether text is a number from 0 to 10 without a fraction: it writes the
// digits out and looks at the two sides of the point.
func smallInteger(text string) bool {
	if text == "" || !strings.ContainsRune("-0123456789", rune(text[0])) {
		return false
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	body := strings.TrimPrefix(mantissa, "-")
	left, right, _ := strings.Cut(body, ".")
	if strings.Trim(left+right, "0") == "" {
		return true
	}
	if body != mantissa {
		return false
	}
	shift := 0
	if exponent != "" {
		var n json.Number = json.Number(strings.TrimPrefix(exponent, "+"))
		e, err := n.Int64()
		if err != nil || e > 1<<20 || e < -1<<20 {
			return false
		}
		shift = int(e)
	}
	if shift >= 0 {
		right += strings.Repeat("0", max(0, shift-len(right)))
		left, right = left+right[:shift], right[shift:]
	} else {
		left = strings.Repeat("0", max(0, -shift-len(left))) + left
		left, right = left[:len(left)+shift], left[len(left)+shift:]+right
	}
	left = strings.TrimLeft(left, "0")
	return strings.Trim(right, "0") == "" && (len(left) == 1 || left == "10")
}

func FuzzCompile(f *testing.F) {
	for _, text := range manySchemas() {
		f.Add(text)
	}
	for _, text := range []string{
		`true`, `{"$ref":"#"}`, `{"$ref":"#/$defs/a","$defs":{"a":{"$anchor":"b","items":{"$ref":"#b"}}}}`, `{"enum":[1e999999999]}`,
		`{"pattern":"(a{1,100}){1,10}"}`, `{"type":["null"],"required":["a","a"]}`, `{"$ref":"#/%7E0/~1/0"}`, `{"dependentSchemas":{"a":{"$ref":"#/not"}},"not":{}}`,
	} {
		f.Add(text)
	}
	data := [][]byte{
		[]byte(`{"a":1,"b":"x","c":{"a":[{}]},"contactMethod":"phone"}`), []byte(`[1,1.0,"a",[[]],{"a":{"a":{"a":null}}}]`),
		[]byte(`1e999999999`), []byte(`-0.5`), []byte(`"\ud83d\ude00 2020-01-01"`), []byte(`null`), []byte(`true`), []byte(`{`),
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Compile([]byte(text))
		if err != nil {
			if s != nil || err.Error() == "" {
				t.Errorf("Compile(%q) = %v, %q; want no schema beside an error, and an error with a message", text, s, err)
			}
			return
		}
		for _, d := range data {
			checkInvariants(t, s, d)
		}
	})
}
