package jsonrpc

import (
	"strings"
	"testing"

	"github.com/petrock/petrock/core/internal/jsonscan"
	"github.com/petrock/petrock/core/strictjson"
)

// parseFault returns the fault that the scanner should return for a valid object.
func parseFault(raw []byte) (f MessageError, ok bool) {
	var e envelope
	ids, named := 0, false
	err := strictjson.Object(raw, func(key, value []byte) error {
		if string(key) == "id" {
			ids++
		}
		named = named || string(key) == "method" && value[0] == '"'
		return e.member(key, value, jsonscan.Ends{})
	})
	if err != nil && !hasKind(err, strictjson.Duplicate) {
		return MessageError{}, false
	}
	if ids == 1 && len(e.id) <= longestID {
		f.ID, _ = ParseID(e.id)
	}
	f.Response = e.isResponse()
	f.Notification = named && ids == 0
	return f, true
}

func TestScanner(t *testing.T) {
	tests := []struct {
		in   string
		want MessageError
	}{
		{`{"id":1,"method":"m"}`, MessageError{ID: IntID(1)}},
		{`{"method":"m","params":{"id":2},"id":1}`, MessageError{ID: IntID(1)}},
		{`{"a":"\"id\":2,","b":["id",{"id":3}],"id" : "x y" }`, MessageError{ID: ID{`"x y"`}}},
		{`{"\\":"\\","id":1}`, MessageError{ID: IntID(1)}},
		{`{"a\"id":2,"id\\":3,"id":1}`, MessageError{ID: IntID(1)}},
		{`{"\u0069\u0064":1,"\u0072\u0065\u0073\u0075\u006c\u0074":1}`, MessageError{ID: IntID(1), Response: true}},
		{`{"ID":1,"Result":1}`, MessageError{}},
		{`{"id":1,"id":1}`, MessageError{}},
		{`{"id":null}`, MessageError{}},
		{`{"id":[1]}`, MessageError{}},
		{`{"id":"` + strings.Repeat("x", 254) + `"}`, MessageError{ID: ID{`"` + strings.Repeat("x", 254) + `"`}}},
		{`{"id":"` + strings.Repeat("x", 255) + `"}`, MessageError{}},
		{`{"id":1,"error":{}}`, MessageError{ID: IntID(1), Response: true}},
		{`{"id":1,"error":{},"method":"m"}`, MessageError{ID: IntID(1)}},
		{`{"params":{"method":"m","result":1}}`, MessageError{}},
		{`{"method":"m"}`, MessageError{Notification: true}},
		{`{"method":1}`, MessageError{}},
		{`{"method":["m"]}`, MessageError{}},
		{`["id",{"id":1}]`, MessageError{}},
		{`"id"`, MessageError{}},
	}
	for _, test := range tests {
		for size := 1; size <= len(test.in); size++ {
			var s envelopeScanner
			for part := range chunks(test.in, size) {
				s.feed([]byte(part))
			}
			if got := s.fault(); got != test.want {
				t.Fatalf("%s in pieces of %d: got %+v, want %+v", test.in, size, got, test.want)
			}
		}
	}
}

func chunks(s string, size int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for len(s) > 0 {
			n := min(size, len(s))
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"method":"m"}`, `{"\u0069d":"\"","result":{"id":[{"id":2}]}}`, `{"id":1,"id":2,"error":{}}`,
		`{"a":{},"b":[],"id" : -5 ,"method":1}`, `{"method":"","x":"\\"}`, `[{"id":1}]`, `{"":"","id":null}`, `{"result" :1,"id": "a b"}`,
	} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, raw []byte, size uint8) {
		var s envelopeScanner
		for part := range chunks(string(raw), int(size)+1) {
			s.feed([]byte(part))
		}
		got := s.fault()
		if cap(s.id) > 2*longestID || cap(s.value) > 2*longestID || cap(s.key) > 2*longestKey {
			t.Fatalf("the scanner keeps %d bytes of an id, %d of a value and %d of a key; want at most %d, %d and %d", cap(s.id), cap(s.value), cap(s.key), 2*longestID, 2*longestID, 2*longestKey)
		}
		if strictjson.First(raw) != '{' {
			return
		}
		if want, ok := parseFault(raw); ok && got != want {
			t.Fatalf("%s: got %+v, want %+v", raw, got, want)
		}
		// parse finds the same id and kind.
		var m Message
		m.parse(raw)
		bad := m.Fault()
		if bad != nil && bad.Err.Code == InvalidRequest && (bad.ID != got.ID && len(bad.ID.raw) <= longestID || bad.Response != got.Response || bad.Notification != got.Notification) {
			t.Fatalf("%s: parse finds %+v, the scanner %+v", raw, *bad, got)
		}
	})
}
