package mcp

import (
	"reflect"
	"testing"
)

func TestURITemplate(t *testing.T) {
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
	}
	for _, test := range tests {
		template, err := parseURITemplate(test.template)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := template.match(test.uri)
		if ok != (test.want != nil) || ok && !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s on %s gives %v, %v, want %v", test.template, test.uri, got, ok, test.want)
		}
	}
}

func TestURITemplateRefuses(t *testing.T) {
	for _, template := range []string{"", "note://7", "note://{", "note://{id", "note://id}", "note://{}", "note://{a b}", "note://{/path}", "note://{id*}", "note://{?a}/b", "note://{?}", "note://{a,b}", "note://{#x}", "x://{{a}}", "x://{a}/{a}", "x://{a}{?a}", "x://y{?a,a}", "x://y?b={b}{?c}"} {
		if got, err := parseURITemplate(template); err == nil {
			t.Errorf("parseURITemplate(%q) = %+v and no error, want an error", template, got)
		}
	}
}
