package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"testing"
)

func TestIDAsJSON(t *testing.T) {
	var v struct {
		A ID  `json:"a"`
		B *ID `json:"b"`
		C ID  `json:"c,omitzero"`
	}
	if err := json.Unmarshal([]byte(`{"a": "\u0061" ,"b":12345678901234567890}`), &v); err != nil {
		t.Fatal(err)
	}
	if v.A.String() != `"\u0061"` || v.B.String() != `12345678901234567890` || !v.C.IsZero() {
		t.Errorf(`got %+v; want A "\u0061", B 12345678901234567890 and C without an id`, v)
	}
	if err := json.Unmarshal([]byte(`{"a":1.5}`), &v); err == nil {
		t.Error("Unmarshal of the id 1.5 = nil, want an error")
	}
	if out, err := json.Marshal(ID{}); string(out) != "null" || err != nil {
		t.Errorf("Marshal(ID{}) = %s, %v; want null and no error", out, err)
	}
	if IntID(-5).String() != "-5" {
		t.Errorf(`IntID(-5).String() = %q, want "-5"`, IntID(-5).String())
	}
}

func TestIDKeys(t *testing.T) {
	same := [][]string{
		{`"a"`, `"\u0061"`},
		{`"/"`, `"\/"`},
		{"\"\u2028\"", `"\u2028"`},
		{`"\n"`, `"\u000a"`, `"\u000A"`},
		{`"\""`, `"\u0022"`},
		{`"😀"`, `"\ud83d\ude00"`},
		{`0`, `-0`},
		{`1`},
		{`"1"`},
		{`""`},
		{`12345678901234567890`},
		{`12345678901234567891`},
	}
	for i, group := range same {
		for j, other := range same {
			for _, a := range group {
				for _, b := range other {
					if got := (ID{a}).Key() == (ID{b}).Key(); got != (i == j) {
						t.Errorf("%s and %s are the same id: %t, want %t", a, b, got, i == j)
					}
				}
			}
		}
	}
}

// decoded returns an id as encoding/json decodes it, in a comparable form.
func decoded(t *testing.T, raw []byte) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q is not JSON: %v", raw, err)
	}
	if n, ok := v.(json.Number); ok {
		whole, _ := new(big.Int).SetString(n.String(), 10)
		return "number " + whole.String()
	}
	return fmt.Sprintf("string %s", v)
}

// isIDLiteral reports whether raw is an id, according to encoding/json.
func isIDLiteral(raw []byte) bool {
	raw = bytes.Trim(raw, " \t\r\n")
	if len(raw) == 0 || !json.Valid(raw) {
		return false
	}
	switch c := raw[0]; {
	case c == '"':
		return bytes.Equal(bytes.ToValidUTF8(raw, []byte("!")), raw)
	case c == '-' || '0' <= c && c <= '9':
		return !bytes.ContainsAny(raw, ".eE")
	}
	return false
}

func FuzzID(f *testing.F) {
	for _, pair := range [][2]string{
		{`1`, `"1"`}, {`"a"`, `"\u0061"`}, {`-0`, `0`}, {`01`, `1e2`}, {`null`, `true`}, {`"\ud800"`, `"\ufffd"`},
		{"\"\u2028\"", `"\u2028"`}, {" 1\n", "\v1"}, {`"\ud83d\ude00"`, `"😀"`}, {`{}`, `[1]`}, {`-`, `""`}, {"\"\xff\"", `"\`},
	} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		one, err := ParseID(a)
		if (err == nil) != isIDLiteral(a) {
			t.Fatalf("ParseID(%q): %v; want it accepted: %t", a, err, isIDLiteral(a))
		}
		if err != nil {
			return
		}
		if want := string(bytes.Trim(a, " \t\r\n")); one.String() != want {
			t.Fatalf("ParseID(%q) = %s, want %s", a, one, want)
		}
		request, err := AppendRequest(nil, one, "m", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{string(request), `{"jsonrpc":"2.0","method":"m","id":` + string(a) + `}`} {
			var m Message
			if m.Parse([]byte(line)); m.Fault() != nil || m.ID() != one {
				t.Fatalf("Parse(%s) = id %q, fault %v; want the id %q and no fault", line, m.ID(), m.Fault(), one)
			}
		}
		other, err := ParseID(b)
		if err != nil {
			return
		}
		if same, want := one.Key() == other.Key(), decoded(t, a) == decoded(t, b); same != want {
			t.Fatalf("%q and %q: the same id is %t, the same value is %t", a, b, same, want)
		}
	})
}

func TestErrorCodesHaveNames(t *testing.T) {
	for code, want := range map[Code]string{
		ParseError: "parse error", InvalidRequest: "invalid request", MethodNotFound: "method not found",
		InvalidParams: "invalid params", InternalError: "internal error", 5: "error 5",
	} {
		if code.Error() != want {
			t.Errorf("code = %q, want %q (int(code): %v)", code.Error(), want, int(code))
		}
	}
}
