package jsonschema

import "testing"

func BenchmarkValidate(b *testing.B) {
	const object = `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"],"additionalProperties":false}`
	benchmarks := []struct{ name, schema, data string }{
		{"two numbers", object, `{"a":1,"b":2}`},
		{"limits", `{"properties":{"n":{"type":"integer","minimum":0,"maximum":100,"multipleOf":5}}}`, `{"n":55}`},
		{"strings", `{"properties":{"s":{"enum":["open","done"]},"t":{"type":"string","minLength":1,"maxLength":20}}}`, `{"s":"done","t":"hello"}`},
		{"contacts", contacts, `{"name":"N","address":{"street":"S","city":"C"},"contactMethod":"phone","phone":"1"}`},
		{"array of objects", `{"type":"array","items":` + object + `}`, `[{"a":1,"b":2},{"a":3,"b":4},{"a":5,"b":6},{"a":7,"b":8}]`},
	}
	for _, bench := range benchmarks {
		b.Run(bench.name, func(b *testing.B) {
			s, err := Compile([]byte(bench.schema))
			if err != nil {
				b.Fatal(err)
			}
			data := []byte(bench.data)
			if err := s.Validate(data); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Validate(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkValidateProblem(b *testing.B) {
	s, err := Compile([]byte(`{"properties":{"a":{"type":"number"}},"required":["a"]}`))
	if err != nil {
		b.Fatal(err)
	}
	data := []byte(`{"a":"1"}`)
	b.ReportAllocs()
	for b.Loop() {
		if s.Validate(data) == nil {
			b.Fatal("Validate() of a wrong value returned no error, want one")
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile([]byte(contacts)); err != nil {
			b.Fatal(err)
		}
	}
}
