package mcpconfig

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestBlankComments(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{`{"a": [1, 2]}`, `{"a": [1, 2]}`},
		{"1 // x\n", "1     \n"},
		{"1 // x\r\n2", "1     \r\n2"},
		{"1 // x", "1     "},
		{"/* a\nb */1", "    \n    1"},
		{"/**/1", "    1"},
		{"[1,]", "[1 ]"},
		{"[1, // x\n]", "[1      \n]"},
		{`{"a": 1, /* x */ }`, `{"a": 1          }`},
		{`["// no", "/* no */", ",]", "\",]"]`, `["// no", "/* no */", ",]", "\",]"]`},
		{`["a\\", ]`, `["a\\"  ]`},
		{"\xef\xbb\xbf{}", "   {}"},
		// Invalid JSON stays invalid.
		{"[,]", "[,]"},
		{"[1,,]", "[1,,]"},
		{"[1,,,]", "[1,,,]"},
		{`{"a":,}`, `{"a":,}`},
		{"[/**/,]", "[    ,]"},
		{"/* open", "/* open"},
		{"1 / 2", "1 / 2"},
		{"/", "/"},
		{`"open // x`, `"open // x`},
		{`"\`, `"\`},
		{",]", ",]"},
	} {
		in := []byte(test.text)
		if got := blankComments(in); string(got) != test.want {
			t.Errorf("%q becomes %q, want %q", test.text, got, test.want)
		}
		if string(in) != test.text {
			t.Errorf("the input is now %q, want %q as before", string(in), test.text)
		}
	}
}

// Lengths, line breaks and valid JSON stay the same, and a second call changes nothing.
func FuzzBlankComments(f *testing.F) {
	for _, seed := range []string{`{"a": 1, /* x */ }`, "[1, // x\n]", `"\",]"`, "[1,,]", "/*/", "\xef\xbb\xbf[1,]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := blankComments(text)
		if len(got) != len(text) {
			t.Fatalf("%q becomes %q with %d bytes, want %d", text, got, len(got), len(text))
		}
		for i, c := range got {
			if c != text[i] && (c != ' ' || text[i] == '\n' || text[i] == '\r') {
				t.Fatalf("%q becomes %q: byte %d is %q, want it kept or a space", text, got, i, c)
			}
		}
		if json.Valid(text) && !bytes.Equal(got, text) {
			t.Fatalf("%q is JSON, and becomes %q", text, got)
		}
		if again := blankComments(got); json.Valid(got) && !bytes.Equal(again, got) {
			t.Fatalf("%q becomes %q and then %q", text, got, again)
		}
	})
}
