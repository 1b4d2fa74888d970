package gen_test

import (
	"encoding/json"
	"testing"

	"github.com/petrock/petrock/generators/gen"
)

func TestSample(t *testing.T) {
	for _, test := range []struct{ text, sample string }{
		{"a", `"example"`},
		{"a:string:..3", `"exa"`},
		{"a:string:9..", `"exampleex"`},
		{"a:string:4", `"exam"`},
		{"a:string:..0", `""`},
		{"a:string:1..2000000000", `"example"`},
		{"a:string:..2000000000", `"example"`},
		{"a:int", `1`},
		{"a:int:1..100", `1`},
		{"a:int:5..", `5`},
		{"a:int:..-5", `-5`},
		{"a:int64:-9223372036854775808..9223372036854775807", `1`},
		{"a:int64:9223372036854775807..9223372036854775807", `9223372036854775807`},
		{"a:float", `1.5`},
		{"a:float:..0.5", `0.5`},
		{"a:float:2..", `2`},
		{"a:float:1e300..1e301", `1e+300`},
		{"a:bool", `true`},
		{"a:time", `"2026-01-02T15:04:05Z"`},
		{"a:duration", `"1h30m"`},
		{"a:date", `"2026-01-02"`},
		{"a:[]email", `["ada@example.com"]`},
		{"a:uri", `"https://example.com/a"`},
		{"a:uuid", `"123e4567-e89b-12d3-a456-426614174000"`},
		{"a:string:/^[A-Z]{3}$/", `"AAA"`},
		{"a:string:3:/^[A-Z]+$/", `"AAA"`},
		{"a:string:9..:/^(a[0-9]*-?)+$/", `"aaaaaaaaa"`},
		{"a:string:/^(x|yz)+[^a]?$/", `"x"`},
		{"a:string:..5:/^[a-z]+-[0-9]*$/", `"a-"`},
		{"a:[]string:2:/^[0-9]+$/", `["0","0"]`},
		{"a:string:/\\bx/=x", `"x"`},
		{"a:int:1..9=5", `1`},
		{"a:bytes", `"ZXhhbXBsZQ=="`},
		{"a:any", `"example"`},
		{"a:enum(open,done)", `"open"`},
		{"a:[]enum(open,done):2..3", `["open","open"]`},
		{"a:[]string:..0", `[]`},
		{"a:[]any", `["example"]`},
		{"a:map[string][]time", `{"key1":["2026-01-02T15:04:05Z"]}`},
		{"a:map[string]int:2..", `{"key1":1,"key2":1}`},
	} {
		f, err := gen.ParseField(test.text)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if got := encode(t, f.Sample()); got != test.sample {
			t.Errorf("the sample of %q is %s, want %s", test.text, got, test.sample)
		}
	}
}

// The other sample of a field is valid and differs from the sample.
func TestOther(t *testing.T) {
	for text, want := range map[string]string{
		"a": `"EXAMPLE"`, "a:string:..3": `"EXA"`, "a:string:9..": `"EXAMPLEEX"`, "a:string:..0": ``,
		"a:int": `2`, "a:int:..1": ``, "a:int:1..1": ``, "a:int64:9223372036854775807..": ``, "a:int64:..-9223372036854775808": ``,
		"a:float": `2.5`, "a:float:..1.5": ``, "a:float:1..2": `2`, "a:float:1e308..": ``,
		"a:bool": `false`, "a:time": `"2026-02-03T16:05:06Z"`, "a:enum(open,done)": `"done"`, "a:enum(open)": ``,
		"a:[]string": `["EXAMPLE"]`, "a:[]string:..0": ``, "a:[]enum(open,done)": `["done"]`, "a:[]enum(open)": ``, "a:map[string]int:2..": `{"key1":2,"key2":2}`,
		"a:any": `"EXAMPLE"`, "a:bytes": `"RVhBTVBMRQ=="`, "a:duration": `"2h"`, "a:date": `"2026-02-03"`, "a:email": `"bob@example.com"`,
		"a:string:/^[A-Z]{3}$/": ``, "a:string:/^x$/": ``, "a:string:/^[a-zA-Z]{2}$/": `"AA"`, "a:string:/^(open|done)$/": ``,
	} {
		f, err := gen.ParseField(text)
		if err != nil {
			t.Error(err)
			continue
		}
		other, can := f.OtherSample()
		if can != (want != "") || can && (encode(t, other) != want || encode(t, other) == encode(t, f.Sample())) {
			t.Errorf("OtherSample() of %s = %s, %t, want %s", text, encode(t, other), can, want)
		}
	}
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
