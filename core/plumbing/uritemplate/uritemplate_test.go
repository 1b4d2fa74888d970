package uritemplate

import (
	"reflect"
	"strings"
	"testing"
)

func TestMoreSpecific(t *testing.T) {
	for _, pair := range [][2]string{{"x://{a}/{b}", "x://{+a}"}, {"x://{a}", "x://{+a}"}, {"x://{+a}/end", "x://{a}/{b}"}, {"x://new/{a}{?b}", "x://{a}/{b}"}} {
		var parsed [2]*Template
		for i, text := range pair {
			template, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			parsed[i] = template
		}
		if !parsed[0].MoreSpecific(parsed[1]) || parsed[1].MoreSpecific(parsed[0]) || parsed[0].MoreSpecific(parsed[0]) {
			t.Errorf("%s must be more specific than %s", pair[0], pair[1])
		}
	}
}

func TestMatch(t *testing.T) {
	tests := []struct {
		template, uri string
		want          map[string]string // nil if it does not match
	}{
		{"note://{id}", "note://7", map[string]string{"id": "7"}},
		{"note://{id}", "note://", nil},
		{"note://{id}", "note://a/b", nil},
		{"note://{id}", "note://a?b", nil},
		{"note://{id}", "xnote://7", nil},
		{"note://{id}", "note://a%2Fb%20c", map[string]string{"id": "a/b c"}},
		{"note://{id}", "note://%zz", nil},
		{"note://{id}", "note://..", map[string]string{"id": ".."}},
		{"a.b://{x}/c", "a.b://1/c", map[string]string{"x": "1"}},
		{"a.b://{x}/c", "aXb://1/c", nil},
		{"file:///{+path}", "file:///a\nb", map[string]string{"path": "a\nb"}},
		{"file:///{+path}", "file:///a/b/c.txt", map[string]string{"path": "a/b/c.txt"}},
		{"x://{a}/{b}-{c}", "x://1/2-3", map[string]string{"a": "1", "b": "2", "c": "3"}},
		{"app://log{?after,limit}", "app://log", map[string]string{}},
		{"app://log{?after,limit}", "app://log?limit=5", map[string]string{"limit": "5"}},
		{"app://log{?after,limit}", "app://log?after=1&limit=2&x=3", map[string]string{"after": "1", "limit": "2"}},
		{"app://log{?after}", "app://log?after=", map[string]string{"after": ""}},
		{"app://{kind}{?after}", "app://x?after=a%26b", map[string]string{"kind": "x", "after": "a&b"}},
		{"app://log{?after}", "app://log?%zz", nil},
		{"config://app", "config://app", map[string]string{}},
		{"config://app", "config://apps", nil},
	}
	for _, test := range tests {
		got, ok := parse(t, test.template).Match(test.uri)
		if ok != (test.want != nil) || ok && !reflect.DeepEqual(got, test.want) {
			t.Errorf("Match(%q) of %s = %v, %t, want %v", test.uri, test.template, got, ok, test.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, template := range []string{"note://{", "note://{id", "note://id}", "note://{}", "note://{a b}", "note://{/path}", "note://{id*}", "note://{?a}/b", "note://{?}", "note://{a,b}", "note://{#x}", "x://{{a}}", "x://{a}/{a}", "x://{a}{?a}", "x://y{?a,a}", "x://y?b={b}{?c}"} {
		if got, err := Parse(template); err == nil {
			t.Errorf("Parse(%q) = %+v and no error, want an error", template, got)
		}
	}
}

// Match returns the values of an expanded template.
func TestExpand(t *testing.T) {
	for _, test := range []struct {
		template string
		values   map[string]string
		want     string
	}{
		{"config://app", map[string]string{}, "config://app"},
		{"note://{id}", map[string]string{"id": "a/b c?"}, "note://a%2Fb%20c%3F"},
		{"file:///{+path}", map[string]string{"path": "a/b c.txt"}, "file:///a/b%20c.txt"},
		{"x://{a}-{b}{?q,r}", map[string]string{"a": "1", "b": "2", "r": "3&4"}, "x://1-2?r=3%264"},
		{"x://{a}{?q}", map[string]string{"a": "1"}, "x://1"},
	} {
		template := parse(t, test.template)
		got, err := template.Expand(test.values)
		if err != nil || got != test.want {
			t.Errorf("Expand(%v) of %s = %q, %v, want %q", test.values, test.template, got, err, test.want)
		}
		if back, ok := template.Match(got); !ok || !reflect.DeepEqual(back, test.values) {
			t.Errorf("Match(%q) of %s = %v, %t, want %v", got, test.template, back, ok, test.values)
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	got, err := parse(t, "x://{a}/{b}{?c}").Expand(map[string]string{"a": "1"})
	if want := "no value for b"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Expand = %q, %v, want the error %q", got, err, want)
	}
}

func parse(t *testing.T, text string) *Template {
	t.Helper()
	template, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return template
}
