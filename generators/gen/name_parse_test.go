package gen_test

import (
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/gen"
)

func TestParseNameRefuses(t *testing.T) {
	for text, say := range map[string]string{
		"":                                   "empty; try send_mail",
		" ":                                  "try send_mail",
		"send mail":                          "' ' is not allowed; use ASCII letters, digits, - and _; try send_mail",
		"sеnd":                               "'е' (U+0435) is not ASCII",
		"send_mаil":                          "(U+0430)",
		"größe":                              "'ö' (U+00F6)",
		"send\u200bmail":                     "U+200B",
		"mail🎉":                              "U+1F389",
		"send\xffmail":                       "byte 0xff",
		"2fa":                                "start with a letter; try fa",
		"_x":                                 "start with a letter; try x",
		"_":                                  "start with a letter; try send_mail",
		"-x":                                 "start with a letter; try x",
		"--help":                             "start with a letter; try help",
		"x_":                                 "end with a letter or digit; try x",
		"send-mail-":                         "try send_mail",
		"a__b":                               "use a single - or _ between words; try a_b",
		"a-_b":                               "try a_b",
		"../x":                               "a path is not allowed; try x",
		"../../etc/passwd":                   "try etc_passwd",
		"/etc/passwd":                        "a path is not allowed",
		`C:\x`:                               "a path is not allowed",
		"posts/create":                       "a path is not allowed",
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
			t.Errorf("%.60q is %q: %v, and not %q", text, name.Wire(), err, say)
		} else if len(err.Error()) > 600 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: the message is no sentence: %v", text, err)
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
			t.Errorf("%q is %s, not %s: %v", text, name.Go(), ident, err)
		}
	}
	for text, say := range map[string]string{
		"":                      "empty",
		"_":                     "start with a letter",
		"due-at":                "- is not allowed; use _, as in due_at",
		"-":                     "is not allowed",
		"a b":                   "' ' is not allowed; use ASCII letters, digits and _; try a_b",
		"1st":                   "start with a letter",
		"tіtle":                 "U+0456",
		"a,omitempty":           "',' is not allowed",
		"a`b":                   "is not allowed",
		strings.Repeat("a", 65): "65 characters, at most 64",
	} {
		if _, err := gen.ParseFieldName(text); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v, and not %q", text, err, say)
		}
	}
}
