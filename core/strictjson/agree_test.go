package strictjson

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
)

// day is an enum with UnmarshalText.
type day uint8

func (d *day) UnmarshalText(text []byte) error {
	switch string(text) {
	case "mon":
		*d = 1
	case "tue":
		*d = 2
	default:
		return fmt.Errorf("no day %q", text)
	}
	return nil
}

type embedded struct{ A, B int }

type one struct{ X, Y int }

type other struct {
	X int
	Z int `json:"Y"`
}

// twice has two fields that claim X, and of those that claim Y one has a tag.
type twice struct {
	one
	other
}

type shadow struct {
	embedded
	A string
}

type hidden struct {
	*embedded
	C int
}

type quoted struct {
	N *int    `json:",string"`
	F float64 `json:"f,string,omitempty"`
	S string  `json:"s,string"`
	B bool    `json:"b,string"`
}

// Except for documented differences, the package decodes as encoding/json does, also into values
// that are not zero.
func TestAgrees(t *testing.T) {
	seven := func() *int { n := 7; return &n }
	tests := []struct {
		target func() any // a pointer to a fresh value
		in     []string
	}{
		{func() any { return &[3]int{1, 2, 3} }, []string{`[]`, `[9]`, `[9,8,7,6]`, `null`, `{}`}},
		{func() any { return &map[string]int{"a": 1} }, []string{`{"b":2}`, `null`, `{}`, `[]`, `{"b":"x"}`}},
		{func() any { return &map[string]embedded{} }, []string{`{"a":{"A":1},"b":{"B":2},"c":null}`}},
		{func() any { return &map[string][]int{} }, []string{`{"a":[1,2],"b":[3],"c":[]}`}},
		{func() any { return &map[uintptr]int{} }, []string{`{"7":1}`, `{"-7":1}`}},
		{func() any { return &map[int8]string{} }, []string{`{"7":"x"}`, `{"300":"x"}`, `{"x":"x"}`}},
		{func() any { return &map[day]int{} }, []string{`{"mon":1}`, `{"x":1}`}},
		{func() any { return &map[string]any{} }, []string{`{"a":[1,"x",null,true,{"b":1.5}]}`}},
		{func() any { return &struct{ P *int }{seven()} }, []string{`{"P":8}`, `{"P":null}`, `{}`}},
		{func() any { p := seven(); return &struct{ P, Q *int }{p, p} }, []string{`{"P":8}`}},
		{func() any { return &[]int{1, 2, 3} }, []string{`[9]`, `[]`, `null`, `{}`}},
		{func() any { return &[]day{} }, []string{`["mon","tue"]`, `["x"]`, `null`}},
		{func() any { return &[]byte{1} }, []string{`"AQI="`, `""`, `null`, `"%"`, `7`}},
		{func() any { return new(day) }, []string{`"mon"`, `"x"`, `1`, `null`}},
		{func() any { return new(twice) }, []string{`{"X":1,"Y":2}`}},
		{func() any { return new(shadow) }, []string{`{"A":"a","B":2}`, `{"A":1}`}},
		{func() any { return &hidden{} }, []string{`{"C":3}`}},
		{func() any { return &hidden{embedded: &embedded{}} }, []string{`{"C":3}`}},
		{func() any { return new(quoted) }, []string{`{"N":"5","f":"1.5","s":"\"x\"","b":"true"}`, `{"N":null}`, `{"N":5}`, `{"N":" 5 "}`, `{"b":"x"}`, `{"s":"x"}`}},
		{func() any { return new(uint8) }, []string{`255`, `256`, `-1`, `1.5`, `"1"`, `null`}},
		{func() any { return new(int64) }, []string{`9223372036854775807`, `-9223372036854775808`, `9223372036854775808`, `1.5`}},
		{func() any { return new(float32) }, []string{`1.5`, `1e39`, `-0`, `"x"`}},
		{func() any { return new(string) }, []string{`"a\u00e9\ud83d\ude00"`, `"\ud800"`, `"\ud800x"`, `"\ud800\n"`, `"\ud800\ud800"`, `"\udc00\ud83d\ude00"`, `"\ud83d\u0041"`, `1`, `null`}},
		{func() any { return new(json.Number) }, []string{`12`, `1e400`, `null`, `{}`}},
		{func() any { return new(any) }, []string{`{"A":1}`, `null`, `12`}},
		{func() any { return new(json.RawMessage) }, []string{`{"a": 1}`, `null`}},
		{func() any { return new(bool) }, []string{`true`, `1`, `null`}},
		{func() any { return new(chan int) }, []string{`1`}},
	}
	for _, test := range tests {
		for _, in := range test.in {
			ours, std := test.target(), test.target()
			err, stdErr := Unmarshal([]byte(in), ours), json.Unmarshal([]byte(in), std)
			if (err == nil) != (stdErr == nil) || err == nil && !reflect.DeepEqual(ours, std) {
				t.Errorf("%s into %T\n got %v, %v\nwant %v, %v", in, ours, reflect.ValueOf(ours).Elem(), err, reflect.ValueOf(std).Elem(), stdErr)
			}
		}
	}
}

// Keys are case-sensitive even if an interface holds a pointer to a struct.
func TestWhatAnInterfaceHeld(t *testing.T) {
	held := &struct{ Name string }{}
	var v any = held
	if err := Unmarshal([]byte(`{"NAME":"x"}`), &v); err != nil || held.Name != "" {
		t.Errorf(`got %v, %v, and %+v; want no error and Name ""`, v, err, held)
	}
}

// Siblings do not count toward the nesting depth.
func TestSiblingsAreNotDepth(t *testing.T) {
	for _, one := range []string{`[]`, `{}`, `[[]]`, `{"a":[]}`} {
		many := []byte("[" + one)
		for range 2 * MaxDepth {
			many = append(append(many, ','), one...)
		}
		if err := Check(append(many, ']')); err != nil {
			t.Errorf("%d times %s: %v", 2*MaxDepth+1, one, err)
		}
	}
}

func TestEscapes(t *testing.T) {
	if got := string(AppendString(nil, "a\u2028b\u2029c\x7f</script>\x1b\b")); got != `"a\u2028b\u2029c`+"\x7f"+`</script>\u001b\u0008"` {
		t.Errorf("got %q, want %q", got, `"a\u2028b\u2029c`+"\x7f"+`</script>\u001b\u0008"`)
	}
}

// JSON strings decode as in encoding/json.
func FuzzUnquote(f *testing.F) {
	for _, seed := range []string{`"\ud800"`, `"\ud83d\ude00"`, `"\udc00\ud800"`, `"\u00e9\n\/"`, `"\uD83D\u"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, ok := Unquote(raw)
		if !ok {
			return
		}
		var std string
		if err := json.Unmarshal(raw, &std); err != nil || std != text {
			t.Fatalf("encoding/json reads %q as %q, %v; want %q and no error", raw, std, err, text)
		}
	})
}
