package jsonschema

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

const tooMuch = "is too expensive to validate against this schema; send a smaller or flatter value"

// Small values that are expensive to validate.
func TestHostileValues(t *testing.T) {
	deep := func(open, inner, shut string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(shut, n)
	}
	numbers := strings.TrimSuffix(strings.Repeat("1234567,", 200_000), ",")
	var apart strings.Builder
	for i := range 100_000 {
		apart.WriteString(strings.Repeat("1", i%7+1) + "e" + strings.Repeat("1", i%5+1) + ",")
	}
	text := strings.Repeat("a", 1<<20)
	tests := []struct {
		name, schema, data string
		want               string // what the error starts with
	}{
		{"twice the work at each level", `{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, deep(`{"a":`, `1`, `}`, 200), tooMuch},
		{"choices at each level", `{"anyOf":[{"type":"number"},{"items":{"$ref":"#"},"minItems":2},{"items":{"$ref":"#"},"minItems":3}]}`, deep(`[`, `1`, `]`, 200), tooMuch},
		{"doubling without data", `{"$ref":"#/$defs/0","$defs":{` + doubling(40) + `"40":true}}`, `1`, tooMuch},
		{"deep value, recursive schema", `{"additionalProperties":{"$ref":"#"},"type":["object","string"]}`, deep(`{"a":`, `"`+text+`"`, `}`, 20), ""},
		{"deep value in an enum", `{"enum":[[1]]}`, deep(`[`, `"`+text+`"`, `]`, 20), "must be [1], got [[["},
		{"many problems", `{"items":{"type":"string"}}`, "[" + numbers + "]", "[0]: must be a string, got a number\n"},
		{"many items, one twice", `{"uniqueItems":true}`, "[" + apart.String() + "0]", "must not contain duplicate items"},
		{"long string", `{"pattern":"^(a+)+$","maxLength":10}`, `"` + text + `"`, "must have at most 10 characters, got 1048576"},
		{"hard pattern", `{"pattern":"^(a|a)*b$"}`, `"` + text + `"`, "must match the pattern"},
		{"long key", `{"additionalProperties":false}`, `{"` + text + `":1}`, text[:60] + "…"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := mustCompile(t, test.schema)
			start := time.Now()
			err := s.Validate([]byte(test.data))
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %v, want at most %v", took, 20*time.Second)
			}
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatal("got no error, want one")
			}
			got := strings.TrimPrefix(err.Error(), `["`)
			if !strings.HasPrefix(got, test.want) {
				t.Errorf("got %.200q, want %q", got, test.want)
			}
			if len(got) > 2000 {
				t.Errorf("the message has %d bytes, want at most 2000", len(got))
			}
		})
	}
}

// doubling returns n definitions, each of which applies the next one twice.
func doubling(n int) string {
	var b strings.Builder
	for i := range n {
		next := `{"$ref":"#/$defs/` + strconv.Itoa(i+1) + `"}`
		b.WriteString(`"` + strconv.Itoa(i) + `":{"allOf":[` + next + `,` + next + `]},`)
	}
	return b.String()
}

// The error of a deeply nested alternative has its path, and the cost does not double per level.
func TestDeepChoice(t *testing.T) {
	s := mustCompile(t, `{"anyOf":[
		{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#"}}},"required":["and"],"additionalProperties":false},
		{"type":"object","properties":{"is":{"type":"string"}},"required":["is"],"additionalProperties":false}]}`)
	const levels = 30
	data := strings.Repeat(`{"and":[`, levels) + `{"is":1}` + strings.Repeat(`]}`, levels)
	want := strings.Repeat("and[0].", levels) + "is: must be a string, got a number (closest of 2 alternatives)"
	if err := s.Validate([]byte(data)); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
