package gen_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/gen"
)

func TestParseFieldRefuses(t *testing.T) {
	for text, say := range map[string]string{
		// names
		"":                                   "empty; try title:string",
		" ":                                  "empty",
		":":                                  "it has no name",
		":string":                            "it has no name; try title:string",
		`"Title"`:                            "it has no name",
		"_":                                  "begin with a letter",
		"_:string":                           "begin with a letter",
		"1st:int":                            "begin with a letter",
		"due-at:time":                        "use _, as in due_at",
		"../../x":                            "it is a path",
		"../../x:string":                     "it is a path",
		"a.b:string":                         "'.' cannot stand in it",
		"tіtle:string":                       "'і' (U+0456)",
		"a\x00:string":                       `'\x00' cannot stand in it`,
		"a\n:string":                         `'\n' cannot stand in it`,
		"a`b:string":                         "cannot stand in it",
		"due?:time":                          "the ? stands behind the type, as in due:string?",
		"\n?":                                `'\n' cannot stand in it`,
		"Title of the post":                  "in a shell the whole field in single ones",
		strings.Repeat("a", 65):              "65 characters, and 64 is the most",
		strings.Repeat("a", 10_000):          "10000 characters",
		strings.Repeat("a", 10_001):          "10001 bytes",
		"a:" + strings.Repeat("x", 9_000):    "is no type",
		"a:" + strings.Repeat("[]", 4_000):   "more than 4 lists and maps",
		"a:string " + strings.Repeat(`"`, 9): "something stands behind the description",

		// types
		"a:":             "there is no type behind the colon",
		"a: :1..2":       "there is no type behind the colon",
		"a:?":            "there is no type behind the colon",
		"a:string; evil": `field "a:string; evil": "string; evil" is no type; the types are string, int, int64, float, bool, time, duration, bytes, any, enum(a,b), []TYPE and map[string]TYPE; for a type of your own take string here, and change the struct in the file afterwards`,
		"a:string\n}":    `"string\n}" is no type`,
		"a:string\n}\nfunc init(){ core.Open(\"x\") }\ntype Z struct{\n\tQ string": "something stands behind the description",
		"a:string\n}\nfunc init(){}": "is no type",
		"a:func":                     `"func" is no type`,
		"a:struct{}":                 "is no type",
		"mode:enum(fast,deep)=fast":  `a default is not part of a field; write mode:enum(fast,deep), then add default=fast to the schema tag of the field in Go, and run petrock sync`,
		"limit:int:1..9 = 5":         `write limit:int:1..9, then add default=5`,
		"a:[]":                       `"[]" lacks the type of what is in it; try []string`,
		"a:[][]":                     `"[]" lacks`,
		"a:map[string]":              "try map[string]string",
		"a:map[int]string":           "is no type",
		"a:../../x":                  `"../../x" is no type`,
		"a:string??":                 `"string?" is no type`,
		"a:strіng":                   "is no type",
		"a:string\x00":               "is no type",
		"a:string`json`":             "is no type",
		"a:time.Time":                "try time;",
		"a:boolean":                  "try bool;",
		"a:String":                   "try string;",
		"a:[]byte":                   `"[]byte" is no type; try bytes;`,
		"a:enum":                     "try enum(a,b);",
		"a:[][][][][]int":            "more than 4 lists and maps are inside one another",
		"a\xff:string":               "not UTF-8",

		// enums
		"a:enum()":          "enum() has no values",
		"a:enum(":           "not closed",
		"a:enum(a":          "not closed",
		"a:enum(a,b)c":      "not closed",
		"a:enum(a,,b)":      "an empty value",
		"a:enum(a,)":        "an empty value",
		"a:enum(a,b,a)":     `the value "a" twice`,
		"a:enum(open,Open)": `the values "open" and "Open", which would both be called Open in Go`,
		"a:enum(a b,a-b)":   `"a b" and "a-b"`,
		"a:enum(C,C++)":     `"C" and "C++"`,
		"a:enum(-x)":        "begin with a letter or a digit",
		"a:enum(é)":         "'é' (U+00E9)",
		"a:enum(a\nb)":      `'\n'`,
		"a:enum(a\tb)":      `'\t'`,
		"a:enum(a`b)":       "'`'",
		"a:enum((a))":       "'('",
		`a:enum("a","b")`:   "description",
		"a:enum(" + strings.Repeat("a", 65) + ")":   "65 bytes, and 64 is the most",
		"a:enum(x" + strings.Repeat(",x", 64) + ")": "65 values, and 64 is the most",

		// limits
		"a:int:":                      "no limits behind the colon",
		"a:int:..":                    "have no number",
		"a:int:5":                     "use 5.., ..5, or 5..5",
		"a:float:5":                   "use 5.., ..5, or 5..5",
		"a:int:1.5..2":                "has to be a whole number",
		"a:int:1e3..":                 "has to be a whole number",
		"a:int:007..":                 "is no number",
		"a:int:0x10..":                "is no number",
		"a:int:+1..":                  "is no number",
		"a:int:1_000..":               "is no number",
		"a:int:2..1":                  "the limits 2..1 let nothing in",
		"a:int:..9223372036854775808": "too large for a whole number of 64 bits",
		"a:int:1..2; evil":            "is no number",
		"a:int:1..2\n":                "is no number",
		"a:int:1..100 How many":       "put a description into double quotes",
		"a:int:few":                   `"few" are no limits`,
		"a:int:1..2:3":                "is no number",
		"a:int:1..2..3":               "is no number",
		"a:int:١..٢":                  "is no number",
		"a:float:NaN..":               "is no number",
		"a:float:..Inf":               "is no number",
		"a:float:..1e400":             "too large for a number of 64 bits",
		"a:float:.5..":                "is no number",
		"a:float:2.5..2.4":            "let nothing in",
		"a:string:-1..":               "never less than 0",
		"a:string:1.5":                "has to be a whole number",
		"a:string:2000":               "1000 is the most",
		"a:string:..99999999999":      "2147483647 is the most",
		"a:string:hello":              "put a description into double quotes",
		"a:bool:1..2":                 "not for bool",
		"a:time:1..2":                 "not for time",
		"a:enum(a):1..2":              "not for enum",
		"a:any:1..2":                  "not for any",

		// descriptions
		`a:string "x`:              "not closed",
		`a:string "`:               "not closed",
		`a:string "x\"`:            "not closed",
		`a:string "+build x"`:      "begins with +build",
		`a:string "x" y`:           "something stands behind the description",
		`a:string "x" "y"`:         "something stands behind the description",
		`a:string"x"`:              "behind a space or a colon",
		`a:string::"x"`:            "no limits behind the colon",
		`a::"x"`:                   "no type behind the colon",
		`a:string "x\ny"`:          `\n stands in the description`,
		"a:string \"x\\\ny\"":      "stands in the description",
		"a:string \"x\ny\"":        `'\n' stands in the description`,
		"a:string \"x\ry\"":        `'\r' stands`,
		"a:string \"x\ty\"":        `'\t' stands`,
		"a:string \"x\x00y\"":      `'\x00' stands`,
		"a:string \"x\u0085y\"":    "(U+0085)",
		"a:string \"x\u2028y\"":    "(U+2028)",
		"a:string \"x\u2029y\"":    "(U+2029)",
		"a:string \"x\u202ey\"":    "(U+202E)",
		"a:string \"x\ufeffy\"":    "(U+FEFF)",
		"a:string \"x\U000e0041\"": "(U+E0041)",
		"a:string \"x\xffy\"":      "not UTF-8",
		`a:string "` + strings.Repeat("é", 1001) + `"`: "1001 characters, and 1000 is the most",
	} {
		f, err := gen.ParseField(text)
		switch {
		case err == nil || !strings.Contains(err.Error(), say):
			t.Errorf("%.60q is %s: %v, and not %q", text, f, err, say)
		case !strings.HasPrefix(err.Error(), "field \"") || strings.Contains(err.Error(), "\n") || len(err.Error()) > 800:
			t.Errorf("%.60q: the message is no sentence about the field: %v", text, err)
		case !reflect.DeepEqual(f, gen.Field{}):
			t.Errorf("%.60q is refused, and %+v", text, f)
		}
	}
}
