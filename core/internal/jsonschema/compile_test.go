package jsonschema

import (
	"fmt"
	"strings"
	"testing"
)

func TestCompileErrors(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"a number", `7`, "must be a boolean or an object, got a number"},
		{"null", `{"not":null}`, "not: must be a boolean or an object, got null"},
		{"minimum", `{"properties":{"age":{"minimum":"x"}}}`, "properties.age.minimum: must be a number, got a string"},
		{"exclusiveMaximum of draft 4", `{"exclusiveMaximum":true}`, "exclusiveMaximum: must be a number, got a boolean"},
		{"multipleOf 0", `{"multipleOf":0}`, "multipleOf: must be more than 0, got 0"},
		{"multipleOf negative", `{"multipleOf":-1}`, "multipleOf: must be more than 0, got -1"},
		{"multipleOf with many digits", `{"multipleOf":1234567890123456789}`, "multipleOf: must have at most 18 digits, got 19"},
		{"minLength negative", `{"minLength":-1}`, "minLength: must be at least 0, got -1"},
		{"maxItems broken", `{"maxItems":1.5}`, "maxItems: must be an integer, got 1.5"},
		{"maxProperties text", `{"maxProperties":"1"}`, "maxProperties: must be an integer, got a string"},
		{"type number", `{"type":1}`, "type: must be string, number, integer, boolean, array, object or null, got 1"},
		{"type unknown", `{"items":{"type":"text"}}`, `items.type: must be string, number, integer, boolean, array, object or null, got "text"`},
		{"type unknown in list", `{"type":["null","int"]}`, `type[1]: must be string, number, integer, boolean, array, object or null, got "int"`},
		{"type of none", `{"type":[]}`, "type: must not be empty"},
		{"enum", `{"enum":"a"}`, "enum: must be an array, got a string"},
		{"enum empty", `{"enum":[]}`, "enum: must not be empty"},
		{"required", `{"required":true}`, "required: must be an array, got a boolean"},
		{"required numbers", `{"required":["a",1]}`, "required[1]: must be a string, got a number"},
		{"properties", `{"properties":[]}`, "properties: must be an object, got an array"},
		{"property", `{"properties":{"a b":[]}}`, `properties["a b"]: must be a boolean or an object, got an array`},
		{"dependentRequired", `{"dependentRequired":{"a":"b"}}`, "dependentRequired.a: must be an array, got a string"},
		{"items of draft 7", `{"items":[{}]}`, "items: must be a schema, got an array; use prefixItems for a list of schemas"},
		{"prefixItems", `{"prefixItems":{}}`, "prefixItems: must be an array, got an object"},
		{"anyOf empty", `{"anyOf":[]}`, "anyOf: must not be empty"},
		{"uniqueItems", `{"uniqueItems":1}`, "uniqueItems: must be a boolean, got a number"},
		{"format", `{"format":1}`, "format: must be a string, got a number"},
		{"pattern", `{"pattern":"^(?=a)"}`, "pattern: invalid pattern: error parsing regexp: invalid or unsupported Perl syntax: `(?=`" +
			"; Go's regular expressions do not support lookaround, backreferences or \\u escapes"},
		{"patternProperties", `{"patternProperties":{"(":{}}}`, "patternProperties[\"(\"]: invalid pattern: error parsing regexp: missing closing ): `(`" +
			"; Go's regular expressions do not support lookaround, backreferences or \\u escapes"},
		{"$defs", `{"$defs":{"a":{"minimum":null}}}`, "$defs.a.minimum: must be a number, got null"},
		{"several", `{"minLength":-1,"properties":{"a":{"type":"x-y"},"b":{"$ref":"#/no"}}}`,
			"minLength: must be at least 0, got -1\n" +
				`properties.a.type: must be string, number, integer, boolean, array, object or null, got "x-y"` + "\n" +
				`properties.b.$ref: refers to "#/no", which is not in this document`},

		{"unevaluatedProperties", `{"unevaluatedProperties":false}`, "unevaluatedProperties: is not supported; use additionalProperties next to properties"},
		{"unevaluatedItems", `{"items":{"unevaluatedItems":false}}`, "items.unevaluatedItems: is not supported; use items next to prefixItems"},
		{"$dynamicRef", `{"not":{"$dynamicRef":"#a"}}`, "not.$dynamicRef: is not supported; use $ref"},
		{"$dynamicAnchor", `{"$dynamicAnchor":"a"}`, "$dynamicAnchor: is not supported; use $anchor"},
		{"dependencies", `{"dependencies":{}}`, "dependencies: is not supported; use dependentRequired or dependentSchemas"},
		{"$id inside", `{"$id":"https://a.example","$defs":{"x":{"$id":"b"}}}`,
			"$defs.x.$id: is supported only at the root; remove it, and refer to this schema by its path or its $anchor"},

		{"$ref number", `{"$ref":1}`, "$ref: must be a string, got a number"},
		{"$ref abroad", `{"properties":{"a":{"$ref":"https://example.com/s.json"}}}`,
			`properties.a.$ref: refers to another document, "https://example.com/s.json"; copy that schema into $defs and refer to #/$defs/NAME`},
		{"$ref to a file", `{"$ref":"other.json#/a"}`, `$ref: refers to another document, "other.json#/a"; copy that schema into $defs and refer to #/$defs/NAME`},
		{"$ref nowhere", `{"$ref":"#/$defs/x"}`, `$ref: refers to "#/$defs/x", which is not in this document`},
		{"$ref to no anchor", `{"$ref":"#x"}`, `$ref: refers to "#x", which is not in this document`},
		{"$ref into a value", `{"$ref":"#/title/x","title":"T"}`, `$ref: refers to "#/title/x", which is not in this document`},
		{"$ref past the end", `{"not":{"$ref":"#/allOf/01"},"allOf":[true,true]}`, `not.$ref: refers to "#/allOf/01", which is not in this document`},
		{"$ref to no schema", `{"items":{"$ref":"#/title"},"title":"T"}`, "title: must be a boolean or an object, got a string"},
		{"$ref bad percent", `{"$ref":"#/%zz"}`, `$ref: must be a valid URI reference: invalid URL escape "%zz"`},
		{"$anchor twice", `{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, "$defs.b.$anchor: is already the anchor of another schema"},
		{"$anchor in an enum", `{"enum":[{"$anchor":"x"}],"not":{"$ref":"#x"}}`, `not.$ref: refers to "#x", which is not in this document`},
	}
	const loop = "refers to itself without entering a property or an item, so validation would never end"
	for _, schema := range []string{
		`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, `{"anyOf":[true,{"$ref":"#"}]}`, `{"oneOf":[{"$ref":"#"}]}`, `{"not":{"$ref":"#"}}`,
		`{"if":{"$ref":"#"}}`, `{"then":{"$ref":"#"}}`, `{"else":{"$ref":"#"}}`, `{"dependentSchemas":{"a":{"$ref":"#"}}}`,
	} {
		tests = append(tests, struct{ name, schema, want string }{"loop " + schema, schema, loop})
	}
	tests = append(tests, struct{ name, schema, want string }{
		"loop over two", `{"$defs":{"a":{"$ref":"#b"},"b":{"$anchor":"b","allOf":[{"$ref":"#/$defs/a"}]}}}`, "$defs.a: " + loop})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := Compile([]byte(test.schema))
			if err == nil || err.Error() != test.want || s != nil {
				t.Errorf("Compile(%s) = %v, %v; want no schema and the error %s", test.schema, s, err, test.want)
			}
		})
	}
}

// A chain of references is bounded even where the document is not deep.
func TestChainTooLong(t *testing.T) {
	chain := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
		}
		return fmt.Sprintf(`{"$defs":{%s"d%d":{"type":"string"}}}`, b.String(), n)
	}
	mustCompile(t, chain(200))
	const want = "$defs.d744: nested too deep: too many schemas apply to one value"
	if _, err := Compile([]byte(chain(1000))); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestReferences(t *testing.T) {
	const odd = `{"$defs":{"a/b":{"type":"integer"},"c~d":{"type":"integer"},"e%f":{"type":"integer"},"g h":{"type":"integer"},"i\"j":{"type":"integer"}},
		"properties":{"slash":{"$ref":"#/$defs/a~1b"},"tilde":{"$ref":"#/$defs/c~0d"},"percent":{"$ref":"#/$defs/e%25f"},"space":{"$ref":"#/$defs/g%20h"},"quote":{"$ref":"#/$defs/i%22j"}}}`
	const list = `{"type":"object","properties":{"value":{"type":"integer"},"next":{"$ref":"#"}},"required":["value"],"additionalProperties":false}`
	run(t, []check{
		{"odd names", odd, `{"slash":1,"tilde":1,"percent":1,"space":1,"quote":1}`, ""},
		{"odd names bad", odd, `{"slash":"","tilde":"","percent":"","space":"","quote":""}`,
			"slash: must be an integer, got a string\ntilde: must be an integer, got a string\npercent: must be an integer, got a string\n" +
				"space: must be an integer, got a string\nquote: must be an integer, got a string"},
		{"recursive", list, `{"value":1,"next":{"value":2,"next":{"value":3}}}`, ""},
		{"recursive bad", list, `{"value":1,"next":{"value":2,"next":{"valeu":3}}}`,
			"next.next.valeu: is not a known property; known: value, next\nnext.next.value: required but missing"},
		{"tree", `{"$defs":{"node":{"properties":{"nodes":{"type":"array","items":{"$ref":"#/$defs/node"}},"v":{"type":"string"}}}},"$ref":"#/$defs/node"}`,
			`{"nodes":[{"v":"x"},{"nodes":[{"v":1}]}]}`, "nodes[1].nodes[0].v: must be a string, got a number"},
		{"anchor", `{"$defs":{"x":{"$anchor":"foo","type":"integer"}},"$ref":"#foo"}`, `"x"`, "must be an integer, got a string"},
		{"anchor behind its use", `{"items":{"$ref":"#foo"},"$defs":{"x":{"$anchor":"foo","type":"integer"}}}`, `[1,"x"]`, "[1]: must be an integer, got a string"},
		{"with other keywords", `{"$ref":"#/$defs/a","maximum":5,"$defs":{"a":{"minimum":3}}}`, `2`, "must be at least 3, got 2"},
		{"with other keywords, these", `{"$ref":"#/$defs/a","maximum":5,"$defs":{"a":{"minimum":3}}}`, `6`, "must be at most 5, got 6"},
		{"to a property", `{"properties":{"a":{"type":"integer"},"b":{"$ref":"#/properties/a"}}}`, `{"b":"x"}`, "b: must be an integer, got a string"},
		{"to an item", `{"prefixItems":[{"type":"integer"},{"$ref":"#/prefixItems/0"}]}`, `[1,"x"]`, "[1]: must be an integer, got a string"},
		{"to a reference", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"integer"}},"$ref":"#/$defs/a"}`, `""`, "must be an integer, got a string"},
		{"to a boolean", `{"$defs":{"no":false},"properties":{"a":{"$ref":"#/$defs/no"}}}`, `{"a":1}`, "a: is not allowed"},
		{"to definitions of old", `{"definitions":{"a":{"type":"integer"}},"$ref":"#/definitions/a"}`, `""`, "must be an integer, got a string"},
		{"to where no keyword looks", `{"x-shared":{"a":{"type":"integer","items":{"$ref":"#/x-shared/b"}},"b":{"type":"null"}},"$ref":"#/x-shared/a"}`, `""`,
			"must be an integer, got a string"},
		{"property called $ref", `{"properties":{"$ref":{"type":"string"}}}`, `{"$ref":1}`, "$ref: must be a string, got a number"},
		{"$ref in an enum", `{"enum":[{"$ref":"#/nowhere"}]}`, `{"$ref":"#/nowhere"}`, ""},
		{"empty names", `{"$defs":{"":{"$defs":{"":{"type":"number"}}}},"allOf":[{"$ref":"#/$defs//$defs/"}]}`, `"a"`, "must be a number, got a string"},
		{"mutual", `{"$defs":{"a":{"properties":{"b":{"$ref":"#/$defs/b"}}},"b":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}},"$ref":"#/$defs/a"}`,
			`{"b":{"a":{"b":1}}}`, "b.a.b: must be an object, got a number"},
		{"names by the root", `{"propertyNames":{"$ref":"#"},"maxLength":2}`, `{"abc":1}`, "abc: property name must have at most 2 characters, got 3"},
	})
}
