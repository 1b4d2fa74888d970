package gen_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/gen"
)

func TestParse(t *testing.T) {
	of := func(kind gen.FieldKind) gen.FieldType { return gen.FieldType{Kind: kind} }
	in := func(kind gen.FieldKind, elem gen.FieldType) gen.FieldType {
		return gen.FieldType{Kind: kind, Elem: &elem}
	}
	status := gen.FieldType{Kind: gen.KindEnum, Values: []gen.EnumValue{{Text: "open", Go: "Open"}, {Text: "in-progress", Go: "InProgress"}}}
	for text, want := range map[string]gen.Field{
		"title":                                 {Name: "title", Go: "Title", Type: of(gen.KindString)},
		`title "Title"`:                         {Name: "title", Go: "Title", Type: of(gen.KindString), Description: "Title"},
		"title:string":                          {Name: "title", Go: "Title", Type: of(gen.KindString)},
		" title : string ":                      {Name: "title", Go: "Title", Type: of(gen.KindString)},
		"postID:int64":                          {Name: "postID", Go: "PostID", Type: of(gen.KindInt64)},
		"type:any":                              {Name: "type", Go: "Type", Type: of(gen.KindAny)},
		"limit:int:1..100":                      {Name: "limit", Go: "Limit", Type: of(gen.KindInt), Min: "1", Max: "100"},
		"limit:int: 1 .. 100 ":                  {Name: "limit", Go: "Limit", Type: of(gen.KindInt), Min: "1", Max: "100"},
		"n:int:-5..":                            {Name: "n", Go: "N", Type: of(gen.KindInt), Min: "-5"},
		"n:int:..-0":                            {Name: "n", Go: "N", Type: of(gen.KindInt), Max: "0"},
		"n:int64:..9223372036854775807":         {Name: "n", Go: "N", Type: of(gen.KindInt64), Max: "9223372036854775807"},
		"x:float:-0..1e3":                       {Name: "x", Go: "X", Type: of(gen.KindFloat), Min: "0", Max: "1000"},
		"x:float:0.25..1e300":                   {Name: "x", Go: "X", Type: of(gen.KindFloat), Min: "0.25", Max: "1e+300"},
		"code:string:4":                         {Name: "code", Go: "Code", Type: of(gen.KindString), Min: "4", Max: "4"},
		"due_at:time?":                          {Name: "due_at", Go: "DueAt", Type: of(gen.KindTime), Optional: true},
		"tags:[]string?:1..10":                  {Name: "tags", Go: "Tags", Type: in(gen.KindList, of(gen.KindString)), Optional: true, Min: "1", Max: "10"},
		"m:map[string][]int:..3":                {Name: "m", Go: "M", Type: in(gen.KindMap, in(gen.KindList, of(gen.KindInt))), Max: "3"},
		"deep:[][][][]bool":                     {Name: "deep", Go: "Deep", Type: in(gen.KindList, in(gen.KindList, in(gen.KindList, in(gen.KindList, of(gen.KindBool)))))},
		"s:enum(open,in-progress)":              {Name: "s", Go: "S", Type: status},
		"s:[]enum( open , in-progress )?:1..2":  {Name: "s", Go: "S", Type: in(gen.KindList, status), Optional: true, Min: "1", Max: "2"},
		"s:enum(a:b)":                           {Name: "s", Go: "S", Type: gen.FieldType{Kind: gen.KindEnum, Values: []gen.EnumValue{{Text: "a:b", Go: "AB"}}}},
		"s:enum(2xx)":                           {Name: "s", Go: "S", Type: gen.FieldType{Kind: gen.KindEnum, Values: []gen.EnumValue{{Text: "2xx", Go: "N2xx"}}}},
		`title:string "Title of the post"`:      {Name: "title", Go: "Title", Type: of(gen.KindString), Description: "Title of the post"},
		`limit:int:1..100 "How many: at most?"`: {Name: "limit", Go: "Limit", Type: of(gen.KindInt), Min: "1", Max: "100", Description: "How many: at most?"},
		`a:string "say \"x\", \\, */ and ` + "`" + `"`: {Name: "a", Go: "A", Type: of(gen.KindString), Description: `say "x", \, */ and ` + "`"},
		`a:string "  日本語　文 👩‍💻 "`:                      {Name: "a", Go: "A", Type: of(gen.KindString), Description: "日本語　文 👩‍💻"},
		`a:string ""`:                              {Name: "a", Go: "A", Type: of(gen.KindString)},
		"mode:enum(open,in-progress)=open":         {Name: "mode", Go: "Mode", Type: status, Default: new("open")},
		`limit:int:1..100 = 20 "How many"`:         {Name: "limit", Go: "Limit", Type: of(gen.KindInt), Min: "1", Max: "100", Default: new("20"), Description: "How many"},
		`title:string="no title" "The = title"`:    {Name: "title", Go: "Title", Type: of(gen.KindString), Default: new("no title"), Description: "The = title"},
		`title="" `:                                {Name: "title", Go: "Title", Type: of(gen.KindString), Default: new("")},
		`a:string="it's, \"1\""`:                   {Name: "a", Go: "A", Type: of(gen.KindString), Default: new(`it's, "1"`)},
		`code:string:3:/^[A-Z]{3}$/ "A code"`:      {Name: "code", Go: "Code", Type: of(gen.KindString), Min: "3", Max: "3", Pattern: "^[A-Z]{3}$", Description: "A code"},
		`path:string:/^\/[a-z"=(:, ]+\\?$/?`:       {Name: "path", Go: "Path", Type: of(gen.KindString), Optional: true, Pattern: `^\/[a-z"=(:, ]+\\?$`},
		`code:string?:/^.x/`:                       {Name: "code", Go: "Code", Type: of(gen.KindString), Optional: true, Pattern: "^.x"},
		`tags:[]string:..3:/^[a-z]+$/`:             {Name: "tags", Go: "Tags", Type: in(gen.KindList, of(gen.KindString)), Max: "3", Pattern: "^[a-z]+$"},
		`code:string:/\bx/=x`:                      {Name: "code", Go: "Code", Type: of(gen.KindString), Pattern: `\bx`, Default: new("x")},
		"day:date=2026-11-19":                      {Name: "day", Go: "Day", Type: of(gen.KindDate), Default: new("2026-11-19")},
		"at:time=2026-11-19T12:00:00+01:00":        {Name: "at", Go: "At", Type: of(gen.KindTime), Default: new("2026-11-19T12:00:00+01:00")},
		"wait:duration=90m":                        {Name: "wait", Go: "Wait", Type: of(gen.KindDuration), Default: new("90m")},
		"to:[]email:1..":                           {Name: "to", Go: "To", Type: in(gen.KindList, of(gen.KindEmail)), Min: "1"},
		"home:uri=https://example.com/?a=b":        {Name: "home", Go: "Home", Type: of(gen.KindURI), Default: new("https://example.com/?a=b")},
		"tier:desk.Tier=gold":                      {Name: "tier", Go: "Tier", Type: gen.FieldType{Kind: gen.KindGo, Name: "desk.Tier"}, Default: new("gold")},
		"sums:map[string]./internal/money.Amount?": {Name: "sums", Go: "Sums", Type: in(gen.KindMap, gen.FieldType{Kind: gen.KindGo, Name: "./internal/money.Amount"}), Optional: true},
		`d:duration? "//go:embed"`:                 {Name: "d", Go: "D", Type: of(gen.KindDuration), Optional: true, Description: "//go:embed"},
	} {
		got, err := gen.ParseField(text)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v, want %+v", text, got, want)
		}
		if again, err := gen.ParseField(got.String()); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%s is %s, which is parsed as %+v, %v; want the same field and no error", text, got, again, err)
		}
	}
}

func TestString(t *testing.T) {
	for text, want := range map[string]string{
		"title":                          "title:string",
		"x:float:1..":                    "x:float:1..",
		"code:string:4":                  "code:string:4..4",
		`s : enum( a , b ) ? "x \" \\"`:  `s:enum(a,b)? "x \" \\"`,
		"m:map[string][]bytes?:..7":      "m:map[string][]bytes?:..7",
		"tickets:[]Ticket?":              "tickets:[]Ticket?",
		"e:Email":                        "e:Email",
		`a:string : 1..9 : /a\/b/ = a/b`: `a:string:1..9:/a\/b/="a/b"`,
		`a:string:/a\\\/[\/]/?`:          `a:string?:/a\\\/[\/]/`,
		"a : /x/":                        "a:string:/x/",
		`a = "x y" "z"`:                  `a:string="x y" "z"`,
	} {
		if f, err := gen.ParseField(text); err != nil || f.String() != want {
			t.Errorf("%s is %s, %v; want %s and no error", text, f, err, want)
		}
	}
}

func TestParseAll(t *testing.T) {
	fields, err := gen.ParseFields([]string{"title", "limit:int", "due_at:time?"})
	if err != nil || len(fields) != 3 || fields[2].Go != "DueAt" {
		t.Errorf("got the fields %v, %v; want three, the last DueAt, and no error", fields, err)
	}
	if fields, err := gen.ParseFields(nil); err != nil || len(fields) != 0 {
		t.Errorf("of nothing, there are %v: %v; want no error and no fields", fields, err)
	}
	for texts, says := range map[string][]string{
		"A:string a:int":                      {`field "a:int"`, `"A:string" differs only in case`},
		"a:string a:string":                   {`two fields are named "a"; rename one`},
		"a_b:string aB:int":                   {"has the same Go name AB"},
		"mode:enum(a) modes:[]enum(a)":        {"the enum of", "has the same Go name Mode; rename one of them"},
		"post_id post-id a:string":            {"'-' is not allowed"},
		"a:func _:string b:[] b:int c:string": {`"func" is not a type`, `invalid field name "_"`, `"[]" lacks`},
		strings.Repeat("a ", 101):             {"101 fields, at most 100"},
	} {
		fields, err := gen.ParseFields(strings.Fields(texts))
		if err == nil || fields != nil {
			t.Errorf("%.60q: got the fields %v, %v; want none and an error", texts, fields, err)
			continue
		}
		for _, say := range says {
			if !strings.Contains(err.Error(), say) {
				t.Errorf("%.60q: got %v, want it to contain %q", texts, err, say)
			}
		}
	}
}
