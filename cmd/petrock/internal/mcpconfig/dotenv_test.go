package mcpconfig

import (
	"maps"
	"strings"
	"testing"
)

func TestParseDotenv(t *testing.T) {
	text := "\xef\xbb\xbf# comment\r\n\n  A=1\nexport B = two words # behind\nC: colon\nD=\"a # b\\nc\" # x\nE='a\\nb'\nF=`\"x\"`\n" +
		"G=\nH=#\nI=${A}\nJ='C:\\'\nK=a=b\nA=later\r"
	want := map[string]string{
		"A": "later", "B": "two words", "C": "colon", "D": "a # b\nc", "E": `a\nb`, "F": `"x"`, "G": "", "H": "", "I": "${A}", "J": `C:\`, "K": "a=b",
	}
	got, err := parseDotenv([]byte(text))
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %q, %v; want %q and no error", got, err, want)
	}
	for text, message := range map[string]string{
		"A=1\ns3cret":       "line 2: missing =",
		"A=\"s3cret":        "line 1: missing closing \"",
		"A='":               "line 1: missing closing '",
		"A='s3cret' more":   "line 1: text after the closing '",
		"=s3cret":           `line 1: not a valid variable name before "="`,
		"\n\ns3 cret=x":     `line 3: not a valid variable name before "="`,
		"export =":          "not a valid variable name",
		"A=1\r\"s3cret\"=2": "line 2:",
	} {
		if _, err := parseDotenv([]byte(text)); err == nil || !strings.Contains(err.Error(), message) || strings.Contains(err.Error(), "s3") {
			t.Errorf("%q: %v, want %q", text, err, message)
		}
	}
}

func FuzzParseDotenv(f *testing.F) {
	f.Add("A=1\nexport B='x' # y\nC: `\"`")
	f.Fuzz(func(t *testing.T, text string) {
		vars, err := parseDotenv([]byte(text))
		if err != nil && vars != nil {
			t.Errorf("%q: %q and %v", text, vars, err)
		}
		for name := range vars {
			if name == "" || strings.ContainsAny(name, "=\x00\n") {
				t.Errorf("%q has the name %q; want one that is not empty, without =, NUL and newline", text, name)
			}
		}
	})
}
