package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	tests := []struct {
		name, in string
		kind     Kind // 0 means good
	}{
		{"object", ` {"a":[1,-2.5e+3,true,false,null,"x\u00e9\n"],"b":{}} `, 0},
		{"empty array", `[ ]`, 0},
		{"empty", ``, Syntax},
		{"space alone", "  ", Syntax},
		{"two values", `{} {}`, Syntax},
		{"leading zero", `01`, Syntax},
		{"bare minus", `-`, Syntax},
		{"plus", `+1`, Syntax},
		{"dot without digits", `1.`, Syntax},
		{"exponent without digits", `1e`, Syntax},
		{"word cut short", `tru`, Syntax},
		{"other word", `True`, Syntax},
		{"NaN", `NaN`, Syntax},
		{"trailing comma in object", `{"a":1,}`, Syntax},
		{"trailing comma in array", `[1,]`, Syntax},
		{"key without quotes", `{a:1}`, Syntax},
		{"single quotes", `{'a':1}`, Syntax},
		{"comment", `{} // no`, Syntax},
		{"raw newline in a string", "\"a\nb\"", Syntax},
		{"unknown escape", `"\x41"`, Syntax},
		{"short unicode escape", `"\u12"`, Syntax},
		{"string without end", `"abc`, Syntax},
		{"object without end", `{"a":1`, Syntax},
		{"byte order mark", "\ufeff{}", Syntax},
		{"NUL", "\x00", Syntax},
		{"invalid UTF-8", "\"\xff\"", Syntax},
		{"overlong UTF-8", "\"\xc0\x80\"", Syntax},
		{"surrogate as UTF-8", "\"\xed\xa0\x80\"", Syntax},
		{"half a surrogate pair, escaped", `"\ud800"`, 0},
		{"U+FFFD itself", `"` + "\ufffd" + `"`, 0},
		{"duplicate key", `{"a":1,"a":2}`, Duplicate},
		{"duplicate key by escape", `{"a":1,"\u0061":2}`, Duplicate},
		{"duplicate key far down", `[{"x":{"a":1,"b":2,"a":3}}]`, Duplicate},
		{"keys that differ by case", `{"a":1,"A":2}`, 0},
		{"same key in two objects", `[{"a":1},{"a":1}]`, 0},
		{"deep enough", strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), 0},
		{"too deep", strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1), Depth},
		{"far too deep, without end", strings.Repeat(`{"a":`, 1<<20), Depth},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := Check([]byte(test.in))
			var e *Error
			switch {
			case test.kind == 0 && err != nil:
				t.Errorf("Check: %v", err)
			case test.kind != 0 && (!errors.As(err, &e) || e.Kind != test.kind):
				t.Errorf("Check = %v, want an error of kind %d", err, test.kind)
			}
		})
	}
}

func TestManyKeys(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `"k%d":0,`, i)
	}
	unique := "{" + b.String() + `"last":0}`
	if err := Check([]byte(unique)); err != nil {
		t.Errorf("1,001 different keys: %v", err)
	}
	for _, again := range []string{"k0", "k15", "k16", "k999"} {
		if Check([]byte("{"+b.String()+`"`+again+`":0}`)) == nil {
			t.Errorf("Check of an object with a second key %q = nil, want an error", again)
		}
	}
}

// A duplicate key is reported after the last member.
func TestObjectGoesOnAfterADuplicate(t *testing.T) {
	var got []string
	err := Object([]byte(`{"a":{"x":1,"x":2},"b":[1,2],"a":3}`), func(k, v []byte) error {
		got = append(got, string(k)+"="+string(v))
		return nil
	})
	var e *Error
	if !errors.As(err, &e) || e.Kind != Duplicate {
		t.Errorf("error = %v, want a duplicate key", err)
	}
	if want := []string{`a={"x":1,"x":2}`, "b=[1,2]", "a=3"}; !reflect.DeepEqual(got, want) {
		t.Errorf("members = %q, want %q", got, want)
	}
}

func TestArrayAndObjectRefuseOtherKinds(t *testing.T) {
	for _, in := range []string{`[1]`, `1`, `"a"`, `null`, ``} {
		if Object([]byte(in), nil) == nil {
			t.Errorf("Object(%q) = nil, want an error", in)
		}
	}
	for _, in := range []string{`{}`, `1`, `"a"`, `null`, ``} {
		if Array([]byte(in), nil) == nil {
			t.Errorf("Array(%q) = nil, want an error", in)
		}
	}
}

func TestStrings(t *testing.T) {
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f", "é€😀", "a\u2028b\u2029c", "<&>"} {
		raw := AppendString(nil, s)
		if back, ok := Unquote(raw); !ok || back != s {
			t.Errorf("Unquote(%s) = %q, %v, want %q", raw, back, ok, s)
		}
		var std string
		if err := json.Unmarshal(raw, &std); err != nil || std != s {
			t.Errorf("encoding/json reads %s as %q (%v), want %q", raw, std, err, s)
		}
	}
	if got := string(AppendString(nil, "a\xffb")); got != `"a\ufffdb"` {
		t.Errorf(`AppendString of invalid UTF-8 = %s, want "a\ufffdb"`, got)
	}
	for _, raw := range []string{``, `"`, `a`, `"a" `, `"\ud83d\ude00" x`} {
		if got, ok := Unquote([]byte(raw)); ok {
			t.Errorf("Unquote(%s) = %q, want a refusal", raw, got)
		}
	}
}

// Check accepts nothing that encoding/json refuses, and refuses only what the documentation says.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e3,"x\u00e9"]}`, `{"a":1,"a":2}`, "\"\xff\"", `[[[[]]]]`, ` 1 `, `-0.0E-1`, `"\ud800\udc00"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := Check(data)
		valid := json.Valid(data)
		if err == nil {
			if !valid {
				t.Fatalf("Check(%q) = nil, want an error: encoding/json refuses it", data)
			}
			return
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("got the error %v (%T), want an *Error", err, err)
		}
		if e.Offset < 0 || e.Offset > len(data) {
			t.Fatalf("the error is at offset %d, want one within the %d bytes", e.Offset, len(data))
		}
		if valid && e.Kind == Syntax && !strings.Contains(e.Msg, "UTF-8") {
			t.Fatalf("Check(%q) = %v, want no error: encoding/json accepts it", data, err)
		}
	})
}

func FuzzString(f *testing.F) {
	f.Add("a\u2028\x00\"\\é😀")
	f.Fuzz(func(t *testing.T, s string) {
		raw := AppendString(nil, s)
		if err := Check(raw); err != nil {
			t.Fatalf("%q is written as %s: %v", s, raw, err)
		}
		back, ok := Unquote(raw)
		if want := strings.ToValidUTF8(s, "\ufffd"); !ok || len(back) < len(want) {
			t.Fatalf("Quote and Unquote of %q = %q, %t; want at least %d bytes and true", s, back, ok, len(want))
		}
		var std string
		if err := json.Unmarshal(raw, &std); err != nil || std != back {
			t.Fatalf("encoding/json reads %s as %q, %v; want %q and no error", raw, std, err, back)
		}
	})
}

// scanString finds a special byte at any position.
func TestEveryByteInAString(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			for _, filler := range []byte{' ', '!', '#', '[', ']', 'x', 0x7f} {
				in := append(append([]byte{'"'}, bytes.Repeat([]byte{filler}, 20)...), '"')
				in[1+at] = byte(c)
				good := c >= ' ' && c < 0x80 && c != '"' && c != '\\'
				var e *Error
				switch err := Check(in); {
				case good && err != nil:
					t.Fatalf("%q: %v", in, err)
				case good || c == '\\' && (at == 19 || filler != 'x'):
				case !errors.As(err, &e) || e.Offset != 1+at && c != '"':
					t.Fatalf("%q: %v", in, err)
				}
			}
		}
	}
}

// Keys of nested objects do not conflict.
func TestKeysWithinKeys(t *testing.T) {
	for _, keys := range []int{1, 3, 8, 9, 20} {
		for _, depth := range []int{1, 5, 40} {
			nest := func(last string) []byte {
				in := "1"
				for range depth {
					level := "{"
					for k := range keys {
						level += fmt.Sprintf(`"k%d":%d,`, k, k)
					}
					in = level + `"in":` + in + `,"` + last + `":0}`
				}
				return []byte(in)
			}
			for _, last := range []string{"other", `\u006b`, `k\u0030x`} {
				if err := Check(nest(last)); err != nil {
					t.Errorf("%d keys, %d deep, %s: %v", keys, depth, last, err)
				}
			}
			for _, last := range []string{"k0", "in", `k\u0030`, fmt.Sprintf("k%d", keys-1)} {
				if Check(nest(last)) == nil {
					t.Errorf("%d keys, %d deep: Check() with the last key %q = nil, want an error", keys, depth, last)
				}
			}
		}
	}
}
