package jsonschema_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/internal/jsonschema"
)

func TestParseTag(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, test := range []struct {
		tag  string
		want jsonschema.Tag
		err  string
	}{
		{"", jsonschema.Tag{}, ""},
		{"min=1,max=100,default=20", jsonschema.Tag{Min: "1", Max: "100", Default: text("20")}, ""},
		{"unique, max=3", jsonschema.Tag{Unique: true, Max: "3"}, ""},
		{"pattern='^[A-Z]{1,2}',format=email", jsonschema.Tag{Pattern: "^[A-Z]{1,2}", Format: "email"}, ""},
		{"enum=low|normal|high", jsonschema.Tag{Enum: []string{"low", "normal", "high"}}, ""},
		{"enum='a,b|c'", jsonschema.Tag{Enum: []string{"a,b", "c"}}, ""},
		{"description='How many, at most.',header=X-1", jsonschema.Tag{Description: "How many, at most.", Header: "X-1"}, ""},
		{"description='it''s one',min=1", jsonschema.Tag{Description: "it's one", Min: "1"}, ""},
		{"description=''''", jsonschema.Tag{Description: "'"}, ""},
		{"description=a=b", jsonschema.Tag{Description: "a=b"}, ""},
		{"default=", jsonschema.Tag{Default: text("")}, ""},
		{"min=x", jsonschema.Tag{}, `min=x: "x" is not a number`},
		{"min=0x1", jsonschema.Tag{}, `min=0x1: "0x1" is not a number`},
		{"pattern=(", jsonschema.Tag{}, "pattern: error parsing regexp: missing closing ): `(`"},
		{"pattern='a", jsonschema.Tag{}, "pattern: a ' is not closed"},
		{"pattern='a'b", jsonschema.Tag{}, `pattern: a comma is missing before "b"`},
		{"minimum=1", jsonschema.Tag{}, `unknown setting "minimum"; the settings are min, max, pattern, format, unique, enum, title, description, default and header`},
		{"header=", jsonschema.Tag{}, "header has no name; write header=Region"},
	} {
		got, err := jsonschema.ParseTag(reflect.StructTag(`schema:"` + test.tag + `"`))
		if err != nil || test.err != "" {
			if err == nil || err.Error() != test.err {
				t.Errorf("%s: error %v, want %q", test.tag, err, test.err)
			}
			continue
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("got %+v, want %+v (tag %q)", got, test.want, test.tag)
		}
	}
}

// A valid tag results in a schema that compiles, or in an error.
func FuzzParseTag(f *testing.F) {
	for _, tag := range []string{"min=1,max=2", "pattern='a,b'", "enum=1|2,default=1", "description='a''b'", "unique", "format=date,default=2006-01-02", "=,", "'", "min=1e9999"} {
		f.Add(tag)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\"\\`") {
			return // they would have to be escaped in a Go struct tag
		}
		tag := reflect.StructTag(`schema:"` + text + `"`)
		for _, value := range []any{"", 0, 0.5, false, [1]int{}} {
			of := reflect.StructOf([]reflect.StructField{{Name: "A", Type: reflect.TypeOf(value), Tag: tag}})
			made, err := jsonschema.Infer(of, jsonschema.Input)
			if err != nil {
				continue
			}
			if _, err := jsonschema.Compile(made); err != nil {
				t.Errorf("%q on a %T gives %s: %v", text, value, made, err)
			}
		}
	})
}
