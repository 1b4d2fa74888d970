package gen_test

import (
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/gen"
)

func TestParseNameRefuses(t *testing.T) {
	for text, say := range map[string]string{
		"":                                   "start with a letter",
		" ":                                  "is not allowed",
		"send mail":                          "' ' is not allowed; use only ASCII letters, digits, and - or _",
		"sеnd":                               `\u0435`,
		"send_mаil":                          `\u0430`,
		"größe":                              `\u00f6`,
		"send\u200bmail":                     `\u200b`,
		"mail🎉":                              `\U0001f389`,
		"send\xffmail":                       `\ufffd`,
		"2fa":                                "start with a letter",
		"_x":                                 "start with a letter",
		"_":                                  "start with a letter",
		"-x":                                 "start with a letter",
		"--help":                             "start with a letter",
		"x_":                                 "none at the end",
		"send-mail-":                         "none at the end",
		"a__b":                               "use a single - or _ between words",
		"a-_b":                               "use a single - or _",
		"../x":                               "is not allowed",
		"../../etc/passwd":                   "is not allowed",
		"/etc/passwd":                        "is not allowed",
		`C:\x`:                               "is not allowed",
		"posts/create":                       "is not allowed",
		"..":                                 "'.' is not allowed",
		"mail.go":                            "'.' is not allowed",
		"a\nb":                               `'\n' is not allowed`,
		"a\x00b":                             `'\x00' is not allowed`,
		"a\tb":                               `'\t' is not allowed`,
		`a"b`:                                `'"' is not allowed`,
		"a`b":                                "is not allowed",
		"a'b":                                "is not allowed",
		"a(){}":                              "'(' is not allowed",
		"a;b":                                "';' is not allowed",
		"$(id)":                              "'$' is not allowed",
		strings.Repeat("a", 101):             "101 characters, at most 100",
		strings.Repeat("a", 10_000):          "10000 characters",
		strings.Repeat("aB", 40):             "120 characters with _ between the words",
		strings.Repeat("é", 10_000):          "10000 characters",
		"a" + strings.Repeat("\xff", 10_000): "10001 characters",
	} {
		name, err := gen.ParseName(text)
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%.60q is %q: err = %v, want it to contain %q", text, name.Wire(), err, say)
		} else if len(err.Error()) > 600 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: the message has %d bytes: %q; want one line of at most 600", text, len(err.Error()), err)
		}
	}
	if _, err := gen.ParseName(strings.Repeat("a", 100)); err != nil {
		t.Errorf("%v", err)
	}
}

func TestField(t *testing.T) {
	for text, ident := range map[string]string{
		"title":                  "Title",
		"due_at":                 "DueAt",
		"dueAt":                  "DueAt",
		"postID":                 "PostID",
		"post_id":                "PostID",
		"type":                   "Type",
		"a__b":                   "AB",
		"a_":                     "A",
		"x2":                     "X2",
		strings.Repeat("a", 64):  "A" + strings.Repeat("a", 63),
		strings.Repeat("aB", 32): "A" + strings.Repeat("Ba", 31) + "B",
	} {
		name, err := gen.ParseFieldName(text)
		if err != nil || name.Go() != ident {
			t.Errorf("%q is %s, not %s: %v; want no error and Go %q", text, name.Go(), ident, err, ident)
		}
	}
	for text, say := range map[string]string{
		"":                      "start with a letter",
		"_":                     "start with a letter",
		"due-at":                "'-' is not allowed",
		"-":                     "is not allowed",
		"a b":                   "' ' is not allowed; use only ASCII letters, digits, and _",
		"1st":                   "start with a letter",
		"tіtle":                 `\u0456`,
		"a,omitempty":           "',' is not allowed",
		"a`b":                   "is not allowed",
		strings.Repeat("a", 65): "65 characters, at most 64",
	} {
		if _, err := gen.ParseFieldName(text); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: err = %v, want it to contain %q", text, err, say)
		}
	}
}
