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
		"send mail":                          "' ' cannot stand in it; letters of English, digits, - and _ can; try send_mail",
		"sеnd":                               "'е' (U+0435) is no letter of English",
		"send_mаil":                          "(U+0430)",
		"größe":                              "'ö' (U+00F6)",
		"send\u200bmail":                     "U+200B",
		"mail🎉":                              "U+1F389",
		"send\xffmail":                       "byte 0xff",
		"2fa":                                "begin with a letter; try fa",
		"_x":                                 "begin with a letter; try x",
		"_":                                  "begin with a letter; try send_mail",
		"-x":                                 "begin with a letter; try x",
		"--help":                             "begin with a letter; try help",
		"x_":                                 "end with a letter or a digit; try x",
		"send-mail-":                         "try send_mail",
		"a__b":                               "one - or _ between two words is enough; try a_b",
		"a-_b":                               "try a_b",
		"../x":                               "it is a path, and a plain name is wanted; try x",
		"../../etc/passwd":                   "try etc_passwd",
		"/etc/passwd":                        "it is a path",
		`C:\x`:                               "it is a path",
		"posts/create":                       "it is a path",
		"..":                                 "'.' cannot stand in it",
		"mail.go":                            "'.' cannot stand in it",
		"a\nb":                               `'\n' cannot stand in it`,
		"a\x00b":                             `'\x00' cannot stand in it`,
		"a\tb":                               `'\t' cannot stand in it`,
		`a"b`:                                `'"' cannot stand in it`,
		"a`b":                                "cannot stand in it",
		"a'b":                                "cannot stand in it",
		"a(){}":                              "'(' cannot stand in it",
		"a;b":                                "';' cannot stand in it",
		"$(id)":                              "'$' cannot stand in it",
		strings.Repeat("a", 101):             "101 characters, and 100 is the most",
		strings.Repeat("a", 10_000):          "10000 characters",
		strings.Repeat("aB", 40):             "120 characters as clients see it",
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
		"_":                     "begin with a letter",
		"due-at":                "- cannot stand in it; use _, as in due_at",
		"-":                     "cannot stand in it",
		"a b":                   "' ' cannot stand in it; letters of English, digits and _ can; try a_b",
		"1st":                   "begin with a letter",
		"tіtle":                 "U+0456",
		"a,omitempty":           "',' cannot stand in it",
		"a`b":                   "cannot stand in it",
		strings.Repeat("a", 65): "65 characters, and 64 is the most",
	} {
		if _, err := gen.ParseFieldName(text); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v, and not %q", text, err, say)
		}
	}
}
