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
		":":                                  "start with a letter",
		":string":                            "start with a letter",
		`"Title"`:                            "start with a letter",
		"_":                                  "start with a letter",
		"_:string":                           "start with a letter",
		"1st:int":                            "start with a letter",
		"due-at:time":                        "'-' is not allowed",
		"../../x":                            "'.' is not allowed",
		"../../x:string":                     "'.' is not allowed",
		"a.b:string":                         "'.' is not allowed",
		"tіtle:string":                       `\u0456`,
		"a\x00:string":                       `'\x00' is not allowed`,
		"a\n:string":                         `'\n' is not allowed`,
		"a`b:string":                         "is not allowed",
		"due?:time":                          "'?' is not allowed",
		"\n?":                                `'\n' is not allowed`,
		"Title of the post":                  `write NAME:TYPE "DESCRIPTION"`,
		strings.Repeat("a", 65):              "65 characters, at most 64",
		strings.Repeat("a", 10_000):          "10000 characters",
		strings.Repeat("a", 10_001):          "10001 bytes",
		"a:" + strings.Repeat("x", 9_000):    "is not a type",
		"a:" + strings.Repeat("[]", 4_000):   "nested more than 4 deep",
		"a:string " + strings.Repeat(`"`, 9): "unexpected text after the description",

		// types
		"a:":             "the type is missing after the colon",
		"a: :1..2":       "the type is missing after the colon",
		"a:?":            "the type is missing after the colon",
		"a:string; evil": `field "a:string; evil": "string; evil" is not a type; the types are string, int, int64, float, bool, time, duration, bytes, any, enum(a,b), []TYPE, map[string]TYPE, and Go types of the package, such as Ticket`,
		"a:string\n}":    `"string\n}" is not a type`,
		"a:string\n}\nfunc init(){ core.Open(\"x\") }\ntype Z struct{\n\tQ string": "unexpected text after the description",
		"a:string\n}\nfunc init(){}": "is not a type",
		"a:func":                     `"func" is not a type`,
		"a:struct{}":                 "is not a type",
		"mode:enum(fast,deep)=fast":  `a default is not part of a field; write mode:enum(fast,deep), then add default=fast to the schema tag of the field in Go, and run sync`,
		"limit:int:1..9 = 5":         `write limit:int:1..9, then add default=5`,
		"a:[]":                       `"[]" lacks the element type; try []string`,
		"a:[][]":                     `"[]" lacks`,
		"a:map[string]":              "try map[string]string",
		"a:map[int]string":           "is not a type",
		"a:../../x":                  `"../../x" is not a type`,
		"a:string??":                 `"string?" is not a type`,
		"a:strіng":                   "is not a type",
		"a:string\x00":               "is not a type",
		"a:string`json`":             "is not a type",
		"a:time.Time":                "is not a type",
		"a:boolean":                  "is not a type",
		"a:[]byte":                   `"byte" is not a type`,
		"a:enum":                     "is not a type",
		"a:[][][][][]int":            "nested more than 4 deep",
		"a\xff:string":               "not valid UTF-8",

		// enums
		"a:enum()":          `invalid enum value ""`,
		"a:enum(":           "not closed",
		"a:enum(a":          "not closed",
		"a:enum(a,b)c":      "not closed",
		"a:enum(a,,b)":      `invalid enum value ""`,
		"a:enum(a,)":        `invalid enum value ""`,
		"a:enum(a,b,a)":     `"a" and "a" have the same Go name`,
		"a:enum(open,Open)": `values "open" and "Open" have the same Go name Open`,
		"a:enum(a b,a-b)":   `"a b" and "a-b"`,
		"a:enum(C,C++)":     `"C" and "C++"`,
		"a:enum(-x)":        "invalid enum value",
		"a:enum(é)":         "invalid enum value",
		"a:enum(a\nb)":      "invalid enum value",
		"a:enum(a\tb)":      "invalid enum value",
		"a:enum(a`b)":       "invalid enum value",
		"a:enum((a))":       "invalid enum value",
		`a:enum("a","b")`:   "unexpected text",
		"a:enum(" + strings.Repeat("a", 65) + ")":   "invalid enum value",
		"a:enum(x" + strings.Repeat(",x", 64) + ")": "65 values, at most 64",

		// limits
		"a:int:":                      "invalid limits",
		"a:int:..":                    "invalid limits",
		"a:int:5":                     "invalid limits",
		"a:float:5":                   "invalid limits",
		"a:int:1.5..2":                "is not a 64-bit integer",
		"a:int:1e3..":                 "is not a 64-bit integer",
		"a:int:007..":                 "is not a 64-bit integer",
		"a:int:0x10..":                "is not a 64-bit integer",
		"a:int:+1..":                  "is not a 64-bit integer",
		"a:int:1_000..":               "is not a 64-bit integer",
		"a:int:2..1":                  "limits 2..1 allow no value",
		"a:int:..9223372036854775808": "is not a 64-bit integer",
		"a:int:1..2; evil":            "is not a 64-bit integer",
		"a:int:1..2\n":                "is not a 64-bit integer",
		"a:int:1..100 How many":       "or a description in double quotes",
		"a:int:few":                   "invalid limits",
		"a:int:1..2:3":                "is not a 64-bit integer",
		"a:int:1..2..3":               "is not a 64-bit integer",
		"a:int:١..٢":                  "is not a 64-bit integer",
		"a:float:NaN..":               "is not a 64-bit number",
		"a:float:..Inf":               "is not a 64-bit number",
		"a:float:..1e400":             "is not a 64-bit number",
		"a:float:.5..":                "is not a 64-bit number",
		"a:float:2.5..2.4":            "allow no value",
		"a:string:-1..":               "not a length from 0 to 1000",
		"a:string:1.5":                "is not a 64-bit integer",
		"a:string:2000":               "not a length from 0 to 1000",
		"a:string:..99999999999":      "not a length from 0 to 2147483647",
		"a:string:hello":              "or a description in double quotes",
		"a:bool:1..2":                 "are not allowed for bool",
		"a:time:1..2":                 "are not allowed for time",
		"a:enum(a):1..2":              "are not allowed for enum",
		"a:any:1..2":                  "are not allowed for any",

		// descriptions
		`a:string "x`:              "not closed",
		`a:string "`:               "not closed",
		`a:string "x\"`:            "not closed",
		`a:string "+build x"`:      "starts with +build",
		`a:string "x" y`:           "unexpected text after the description",
		`a:string "x" "y"`:         "unexpected text after the description",
		`a:string"x"`:              "a space is missing",
		`a:string::"x"`:            `invalid limits ""`,
		`a::"x"`:                   "the type is missing after the colon",
		`a:string "x\ny"`:          "U+000A",
		"a:string \"x\\\ny\"":      "not closed, or has an unknown escape",
		"a:string \"x\ny\"":        "not closed, or has an unknown escape",
		"a:string \"x\ry\"":        "U+000D",
		"a:string \"x\ty\"":        "U+0009",
		"a:string \"x\x00y\"":      "U+0000",
		"a:string \"x\u0085y\"":    "U+0085",
		"a:string \"x\u2028y\"":    "U+2028",
		"a:string \"x\u2029y\"":    "U+2029",
		"a:string \"x\u202ey\"":    "U+202E",
		"a:string \"x\ufeffy\"":    "U+FEFF",
		"a:string \"x\U000e0041\"": "U+E0041",
		"a:string \"x\xffy\"":      "not valid UTF-8",
		`a:string "` + strings.Repeat("é", 1001) + `"`: "1001 characters",
	} {
		f, err := gen.ParseField(text)
		switch {
		case err == nil || !strings.Contains(err.Error(), say):
			t.Errorf("%.60q is %s: err = %v, want it to contain %q", text, f, err, say)
		case !strings.HasPrefix(err.Error(), "field \"") || strings.Contains(err.Error(), "\n") || len(err.Error()) > 800:
			t.Errorf("%.60q: invalid message: %v", text, err)
		case !reflect.DeepEqual(f, gen.Field{}):
			t.Errorf("%.60q is refused, and %+v", text, f)
		}
	}
}
