package wire

import "testing"

func TestID(t *testing.T) {
	for _, test := range []struct {
		line, want string
		ok         bool
	}{
		{`{"jsonrpc":"2.0","id":17,"result":{}}`, `17`, true},
		{`{"id":0}`, `0`, true},
		{`{"id":-5,"result":{}}`, `-5`, true},
		{`{"jsonrpc":"2.0","id":"a,b","result":{}}`, `"a,b"`, true},
		{`{"method":"x","params":{"requestId":3}}`, ``, false},
		{`{"result":{"sum":1},"id":8}`, `8`, true},
		{`{"id":null,"error":{}}`, ``, false},
		{`{"id":"open`, ``, false},
		{`{"id":`, ``, false},
		{``, ``, false},
	} {
		begin, end, ok := ID([]byte(test.line))
		if ok != test.ok {
			t.Errorf("ID(%s): ok = %v, want %v", test.line, ok, test.ok)
		} else if got := test.line[begin:end]; ok && got != test.want {
			t.Errorf("ID(%s) = %s, want %s", test.line, got, test.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, test := range []struct {
		digits string
		want   int
		ok     bool
	}{
		{"0", 0, true},
		{"10000063", 10000063, true},
		{"", 0, false},
		{"-1", 0, false},
		{"1x", 0, false},
		{`"1"`, 0, false},
		{"9999999999999999999", 0, false},
	} {
		if got, ok := Number([]byte(test.digits)); ok != test.ok || ok && got != test.want {
			t.Errorf("Number(%q) = %d, %v, want %d, %v", test.digits, got, ok, test.want, test.ok)
		}
	}
}
