package gen_test

import (
	"encoding/json"
	"testing"

	"github.com/petrock/petrock/generators/gen"
)

func TestSample(t *testing.T) {
	for _, test := range []struct{ text, sample, wrong string }{
		{"a", `"example"`, `1`},
		{"a:string:..3", `"exa"`, `"exam"`},
		{"a:string:9..", `"exampleex"`, `"examplee"`},
		{"a:string:4", `"exam"`, `"exa"`},
		{"a:string:..0", `""`, `"e"`},
		{"a:string:1..2000000000", `"example"`, `""`},
		{"a:string:..2000000000", `"example"`, `1`},
		{"a:int", `1`, `"wrong"`},
		{"a:int:1..100", `1`, `101`},
		{"a:int:5..", `5`, `4`},
		{"a:int:..-5", `-5`, `-4`},
		{"a:int64:-9223372036854775808..9223372036854775807", `1`, `"wrong"`},
		{"a:int64:9223372036854775807..9223372036854775807", `9223372036854775807`, `9223372036854775806`},
		{"a:float", `1.5`, `"wrong"`},
		{"a:float:..0.5", `0.5`, `1.5`},
		{"a:float:2..", `2`, `1`},
		{"a:float:1e300..1e301", `1e+300`, `"wrong"`},
		{"a:bool", `true`, `"wrong"`},
		{"a:time", `"2026-01-02T15:04:05Z"`, `1`},
		{"a:duration", `1000000000`, `"wrong"`},
		{"a:bytes", `"ZXhhbXBsZQ=="`, `1`},
		{"a:any", `"example"`, ``},
		{"a:enum(open,done)", `"open"`, `"(wrong)"`},
		{"a:[]enum(open,done):2..3", `["open","open"]`, `["open"]`},
		{"a:[]string:..0", `[]`, `["example"]`},
		{"a:[]any", `["example"]`, `"wrong"`},
		{"a:map[string][]time", `{"key1":["2026-01-02T15:04:05Z"]}`, `"wrong"`},
		{"a:map[string]int:2..", `{"key1":1,"key2":1}`, `{"key1":1}`},
	} {
		f, err := gen.ParseField(test.text)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		wrong, can := f.InvalidSample()
		if got := encode(t, f.Sample()); got != test.sample {
			t.Errorf("a sample of %s is %s, not %s", test.text, got, test.sample)
		}
		if got := encode(t, wrong); can != (test.wrong != "") || can && got != test.wrong {
			t.Errorf("wrong for %s is %s, %t, not %s", test.text, got, can, test.wrong)
		}
	}
}

// The other sample of a field is valid and differs from the sample.
func TestOther(t *testing.T) {
	for text, want := range map[string]string{
		"a": `"changed"`, "a:string:..3": `"cha"`, "a:string:9..": `"changedch"`, "a:string:..0": ``,
		"a:int": `2`, "a:int:..1": `0`, "a:int:1..1": ``, "a:int64:9223372036854775807..9223372036854775807": ``,
		"a:int64:9223372036854775807..": ``, "a:int64:..-9223372036854775808": ``,
		"a:float:1e308..": ``, "a:float:1e308..1.7e308": `1.35e+308`,
		"a:float": `2.5`, "a:float:..1.5": `0.5`, "a:float:1..1.5": `1.25`, "a:float:1..1": ``,
		"a:bool": `false`, "a:time": `"2026-02-03T16:05:06Z"`, "a:enum(open,done)": `"done"`, "a:enum(open)": ``,
		"a:[]string": ``, "a:any": ``, "a:bytes": ``, "a:duration": ``,
	} {
		f, err := gen.ParseField(text)
		if err != nil {
			t.Error(err)
			continue
		}
		other, can := f.OtherSample()
		if can != (want != "") || can && (encode(t, other) != want || encode(t, other) == encode(t, f.Sample())) {
			t.Errorf("another of %s is %s, %t, not %s", text, encode(t, other), can, want)
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
