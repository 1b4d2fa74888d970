package terminal_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/plumbing/terminal"
)

// hostile has a character of each kind that a terminal must not get.
const hostile = "a\x1b[2J\r\u009b31m\u202e\u2066\u200b\u200d\ufeff\u00ad\u2028\u2060\u115f\u180b\U000e0041\x7f\x00z"

const escaped = `a\u001b[2J\u000d\u009b31m\u202e\u2066\u200b\u200d\ufeff\u00ad\u2028\u2060\u115f\u180b\udb40\udc41\u007f\u0000z`

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		hostile:                      escaped,
		"plain\ttext\n":              "plain\ttext\n",
		"two\r\nlines\r\n":           "two\nlines\n",
		"Grüße, 世界 ❤\ufe0f \u0601 é": "Grüße, 世界 ❤\ufe0f \u0601 é",
		"broken \x9b\xff":            "broken \ufffd",
		"":                           "",
	} {
		if got := terminal.Plain(text); got != want {
			t.Errorf("Plain(%q) = %q, want %q", text, got, want)
		}
	}
	if got := terminal.Line("  one\u202e \r\ntwo"); got != `one\u202e` {
		t.Errorf(`Line() = %q, want one\u202e`, got)
	}
}

// JSON has escapes for characters that a terminal must not get, and the same value.
func TestPrintJSON(t *testing.T) {
	for _, value := range []any{hostile, map[string]string{hostile: "\n\t"}, json.RawMessage(`{"a":"` + "\u202e\u009b\x7f\U000e0041" + `", "b" : [1]}`)} {
		var out bytes.Buffer
		if err := terminal.PrintJSON(&out, value); err != nil {
			t.Fatal(err)
		}
		if text := strings.TrimSuffix(out.String(), "\n"); terminal.Plain(text) != text {
			t.Errorf("a terminal gets %q, want it as Plain writes it: %q", text, terminal.Plain(text))
		}
		var got, want any
		exact, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(exact, &want); err != nil {
			t.Fatalf("Marshal returns %s: %v", exact, err)
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("PrintJSON prints %s: %v", out.Bytes(), err)
		}
		if again, _ := json.Marshal(got); !bytes.Equal(again, mustMarshal(t, want)) {
			t.Errorf("got %s, want %s", again, exact)
		}
	}
	var out bytes.Buffer
	if err := terminal.PrintJSON(&out, map[string]any{"a": []int{1}}); err != nil {
		t.Error(err)
	}
	if want := "{\n  \"a\": [\n    1\n  ]\n}\n"; out.String() != want {
		t.Errorf("PrintJSON prints %q, want it indented as %q", out.String(), want)
	}
}

func mustMarshal(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Indenting deep JSON would make it a hundred times larger.
func TestPrintJSONDeep(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("1,", 1<<20) + "1" + strings.Repeat("]", 200)
	var out bytes.Buffer
	if err := terminal.PrintJSON(&out, json.RawMessage(deep)); err != nil || out.Len() > 2*len(deep) {
		t.Errorf("%d bytes of JSON are printed as %d bytes, %v; want at most %d and no error", len(deep), out.Len(), err, 2*len(deep))
	}
}
