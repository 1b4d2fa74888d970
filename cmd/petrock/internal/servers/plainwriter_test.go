package servers

import (
	"bytes"
	"strings"
	"testing"
)

// unsafeText has a character of each kind that a terminal must not get.
const unsafeText = "a\x1b[2J\r\u009b31m\u202e\u2066\u200b\u200d\ufeff\u00ad\u2028\u2060\u115f\u180b\U000e0041\x7f\x00z"

const escapedText = `a\u001b[2J\u000d\u009b31m\u202e\u2066\u200b\u200d\ufeff\u00ad\u2028\u2060\u115f\u180b\udb40\udc41\u007f\u0000z`

// A writer escapes characters and joins line breaks that several writes consist of.
func TestPlainWriter(t *testing.T) {
	for size := range 6 {
		var out bytes.Buffer
		w := newPlainWriter(&out, 1000)
		text := unsafeText + "\r\nend\n"
		for rest := text; rest != ""; {
			n := min(size+1, len(rest))
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if want := escapedText + "\nend\n"; out.String() != want {
			t.Errorf("by %d bytes: %q, not %q", size+1, out.String(), want)
		}
	}
	var out bytes.Buffer
	w := newPlainWriter(&out, 10)
	for range 1000 {
		_, _ = w.Write([]byte("12345"))
	}
	if got := out.String(); !strings.HasPrefix(got, "1234512345") || !strings.Contains(got, "truncated after 10 bytes") || len(got) > 100 {
		t.Errorf(`got %q; want at most 100 bytes that start with "1234512345" and contain "truncated after 10 bytes"`, got)
	}
}
