package gen_test

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/generators/gen"
)

// An accepted field can be parsed again from its canonical form, and is safe in source code.
func FuzzParseField(f *testing.F) {
	for _, seed := range []string{
		"title", "limit:int:1..100", "status:enum(open,done)", "due:time?", "tags:[]string:1..10", `title:string "Title of the post"`,
		`a:string "x \" \\"`, "m:map[string][]enum(a,b:c)?:..3", "x:float:-0.5..1e300", "a:string; evil", "a:string\n}", "code:string:4",
		"a:[][][][][]int", "a:enum(2xx,1.5)", "a:String", "a:int64:..9223372036854775807", "a \"👩‍💻\u2028\"", "a:float:..1e-400",
		"limit:int:1..100=20", `mode:enum(fast,deep) = fast "How"`, `t="no \"title\", it's"`, `code:string:1..9:/^[A-Z\/]{3}\\$/?`, "d:date=2026-11-19",
		"w:duration=1h30m", "to:[]email:/x/", "a:string:/(a|b)*c{2,}/=cc", "u:map[string]./a/b.C", "m:time=2026-11-19T12:00:00Z", "a:int:1-5", "x:uuid?",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := gen.ParseField(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 2000 || !reflect.DeepEqual(got, gen.Field{}) {
				t.Errorf("ParseField(%q) = %+v and an error of %d bytes: %v; want the zero Field, and one line of at most 2000 bytes", text, got, len(err.Error()), err)
			}
			return
		}
		if again, err := gen.ParseField(got.String()); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("ParseField(%q) is %s, which is parsed as %+v, %v; want the same field and no error", text, got, again, err)
		}
		checkSafe(t, got)
		checkSamples(t, got)
	})
}

// checkSafe checks the guarantees that generators rely on.
func checkSafe(t *testing.T, f gen.Field) {
	t.Helper()
	if !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`).MatchString(f.Name) || !isExported(f.Go) {
		t.Errorf("the names are %q and %q", f.Name, f.Go)
	}
	for _, limit := range []string{f.Min, f.Max} {
		if limit == "" {
			continue
		}
		if _, err := parser.ParseExpr(limit); err != nil || !json.Valid([]byte(limit)) {
			t.Errorf("the limit is %q (%v), want a Go expression that is valid JSON", limit, err)
		}
		if _, err := strconv.ParseFloat(limit, 64); err != nil {
			t.Errorf("a limit is %q: %v", limit, err)
		}
	}
	if strings.ContainsAny(f.Description, "\n\r\x00\u2028\u2029") || !utf8.ValidString(f.Description) {
		t.Errorf("the description is %q, want valid UTF-8 in one line", f.Description)
	}
	tag := gen.StructCode{}.Tag(f)
	rules, err := schema.Infer(reflect.StructOf([]reflect.StructField{{Name: f.Go, Type: reflect.TypeFor[[]string](), Tag: reflect.StructTag(tag)}}), schema.Input)
	if f.Pattern != "" && f.Type.Elem != nil && (err != nil || !strings.Contains(string(rules), `"pattern":`)) {
		t.Errorf("the tag is %s: %s, %v; want a pattern of the elements", tag, rules, err)
	}
	source := "package x\n\ntype X struct {\n\t" + f.Go + " string `" + tag + "` // " + f.Description + "\n}\n"
	if file, err := parser.ParseFile(token.NewFileSet(), "x.go", source, parser.ParseComments); err != nil || len(file.Decls) != 1 || len(file.Comments) != 1 {
		t.Errorf("want one Go field with one comment, got %v:\n%s", err, source)
	}
	for kind := &f.Type; kind != nil; kind = kind.Elem {
		if (kind.Elem != nil) != (kind.Kind == gen.KindList || kind.Kind == gen.KindMap) || (len(kind.Values) > 0) != (kind.Kind == gen.KindEnum) {
			t.Errorf("the type is %+v; want an element type only for lists and maps, and values only for enums", kind)
		}
		suffixes := map[string]bool{}
		for _, value := range kind.Values {
			if suffixes[value.Go] || !isExported(value.Go) || !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 _./:+@-]*$`).MatchString(value.Text) {
				t.Errorf("a value is %+v", value)
			}
			suffixes[value.Go] = true
		}
	}
}

// checkSamples checks the samples against the limits. A table test covers types without limits.
func checkSamples(t *testing.T, f gen.Field) {
	t.Helper()
	if size, ok := sizeOf(f.Sample()); !ok || !within(f, size) {
		t.Errorf("the sample of %s is %v, want it within the limits", f, f.Sample())
	}
	if other, can := f.OtherSample(); can {
		if size, ok := sizeOf(other); !ok || !within(f, size) || reflect.DeepEqual(other, f.Sample()) {
			t.Errorf("%s: sample %v, other sample %v; want another value within the limits", f, f.Sample(), other)
		}
	}
	encode(t, f.Sample())
	if text, ok := f.Sample().(string); ok && f.Pattern != "" && (!f.Allows(text) || !regexp.MustCompile(f.Pattern).MatchString(text)) {
		t.Errorf("the sample of %s is %q, want a match", f, text)
	}
}

func isExported(name string) bool { return token.IsIdentifier(name) && token.IsExported(name) }

// sizeOf returns the number that limits apply to: a value or a length.
func sizeOf(value any) (size *big.Rat, ok bool) {
	switch value := value.(type) {
	case string:
		return big.NewRat(int64(utf8.RuneCountInString(value)), 1), true
	case int64:
		return big.NewRat(value, 1), true
	case float64:
		return new(big.Rat).SetFloat64(value), true
	case []any:
		return big.NewRat(int64(len(value)), 1), true
	case map[string]any:
		return big.NewRat(int64(len(value)), 1), true
	case bool:
		return new(big.Rat), true
	}
	return nil, false
}

func within(f gen.Field, size *big.Rat) bool {
	if least, ok := limit(f, f.Min); ok && size.Cmp(least) < 0 {
		return false
	}
	most, ok := limit(f, f.Max)
	return !ok || size.Cmp(most) <= 0
}

// limit returns the value of a literal, rounded to 64 bits for a float.
func limit(f gen.Field, literal string) (*big.Rat, bool) {
	if n, err := strconv.ParseFloat(literal, 64); err == nil && f.Type.Kind == gen.KindFloat {
		return new(big.Rat).SetFloat64(n), true
	}
	return new(big.Rat).SetString(literal)
}
