package jsonrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"testing"
	"testing/synctest"
)

func TestIDsAreEchoedByteForByte(t *testing.T) {
	for _, id := range []string{
		`1`, `0`, `-1`, `-0`, `"1"`, `""`, `" "`, `9007199254740993`, `12345678901234567890`, `-98765432109876543210`,
		`"\u0061"`, `"a\/b"`, `"\\\""`, `"\ud83d\ude00"`, `"😀"`, `"\ud800"`, `"\u2028"`, "\"\u2028\"", `"null"`,
	} {
		got := talk(t, Options{}, Dialect{}, `{"jsonrpc":"2.0","id": `+id+` ,"method":"m"}`)
		equal(t, got, id+` {}`)
		got = talk(t, Options{}, Dialect{}, `{"jsonrpc":"2.0","method":"no","id":`+id+`}`)
		equal(t, got, id+` error -32601`)
	}
}

func TestBadIDsAreRefusedWithoutOne(t *testing.T) {
	for _, id := range []string{`null`, `1.5`, `1.0`, `1e2`, `true`, `false`, `{}`, `{"id":1}`, `[1]`, `[]`} {
		line := `{"jsonrpc":"2.0","id":` + id + `,"method":"m"}`
		equal(t, talk(t, Options{}, Dialect{}, line), `- error -32600`)
		equal(t, talk(t, Options{}, Dialect{NullID: true}, line), `null error -32600`)
	}
}

func TestIDInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finish := make(chan struct{})
		p := newPeer(t, Options{Handle: func(_ context.Context, req *Request) (any, error) {
			if req.Method == "slow" {
				req.Release()
				<-finish
			}
			return []string{req.Method}, nil
		}})
		slow, fast := `{"jsonrpc":"2.0","id":"a","method":"slow"}`, `{"jsonrpc":"2.0","id":"\u0061","method":"fast"}`
		p.send(slow, fast)
		p.expect(`- error -32600`)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"fast"}`)
		p.expect(`1 ["fast"]`)
		close(finish)
		p.expect(`"a" ["slow"]`)
		p.send(fast)
		p.expect(`"\u0061" ["fast"]`)
		p.end()
	})
}

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
					if got := (ID{a}).key() == (ID{b}).key(); got != (i == j) {
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
		m, fault := parse(request)
		if fault != nil || m.id != one {
			t.Fatalf("a request with the id %q gives the id %q, %v; want the id %q and no error", one, m.id, fault, one)
		}
		line := []byte(`{"jsonrpc":"2.0","method":"m","id":` + string(a) + `}`)
		if !bytes.ContainsAny(a, "\r\n") {
			equal(t, talk(t, Options{}, Dialect{}, string(line)), one.String()+" {}")
		}
		other, err := ParseID(b)
		if err != nil {
			return
		}
		if same, want := one.key() == other.key(), decoded(t, a) == decoded(t, b); same != want {
			t.Fatalf("%q and %q: the same id is %t, the same value is %t", a, b, same, want)
		}
	})
}
