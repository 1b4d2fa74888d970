package gen_test

import (
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/gen"
)

func TestLimit(t *testing.T) {
	for project, limit := range map[string]int{
		"weather":               50,
		"a":                     56,
		strings.Repeat("a", 56): 1,
		strings.Repeat("a", 57): 0,
		strings.Repeat("a", 64): 0,
	} {
		if got := gen.MaxNameLength(project); got != limit {
			t.Errorf("%s leaves %d, not %d", project, got, limit)
		} else if call := "mcp__" + project + "__" + strings.Repeat("x", got); got > 0 && len(call) > 64 {
			t.Errorf("%s has %d characters, want at most 64", call, len(call))
		}
	}
}

func TestCheckWire(t *testing.T) {
	for _, name := range []string{"add", "send_mail", "send-mail", "sendMail", "A__b_", "v2", strings.Repeat("a", 50)} {
		if err := gen.CheckWireName(name, "weather"); err != nil {
			t.Errorf("%v", err)
		}
	}
	for name, say := range map[string]string{
		"":                          "start with a letter",
		"1st":                       "start with a letter",
		"_x":                        "start with a letter",
		"send mail":                 "' ' is not allowed",
		"a.b":                       "'.' is not allowed",
		"a/b":                       "is not allowed",
		"größe":                     `\u00f6`,
		strings.Repeat("a", 51):     "51 characters, at most 50 are allowed",
		strings.Repeat("a", 10_000): "10000 characters, at most 50",
	} {
		if err := gen.CheckWireName(name, "weather"); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%.60q: err = %v, want it to contain %q", name, err, say)
		}
	}
	if err := gen.CheckWireName("add", strings.Repeat("a", 60)); err == nil || !strings.Contains(err.Error(), "choose a shorter project name") {
		t.Errorf(`in a project with a long name: %v; want an error containing "choose a shorter project name"`, err)
	}
}

func TestCheckGenerator(t *testing.T) {
	if err := gen.CheckGeneratorName(strings.Repeat("a", 41)); err != nil {
		t.Errorf("%v", err)
	}
	for name, say := range map[string]string{
		strings.Repeat("a", 42): `51 characters, at most 50 are allowed after the server name "petrock"`,
		"a b":                   "' ' is not allowed",
	} {
		if err := gen.CheckGeneratorName(name); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: err = %v, want it to contain %q", name, err, say)
		}
	}
}
