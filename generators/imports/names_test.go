package imports

import "testing"

func TestNameByPath(t *testing.T) {
	for path, want := range map[string]string{
		"strings": "strings", "net/http": "http", "math/rand/v2": "rand", "gopkg.in/yaml.v3": "yaml", "gopkg.in/x/yaml.v0": "yaml",
		"example.com/x/v1": "v1", "example.com/x/v10": "x", "example.com/x/v02": "v02", "example.com/x/v2beta1": "v2beta1",
		"example.com/x/v-2": "v-2", "example.com/x/v+2": "v+2", "example.com/x/v": "v", "v2": "v2", "": ".", "/v2": ".",
		"example.com/x.v99999999999999999999": "x.v99999999999999999999", "example.com/go-x": "go-x",
	} {
		if got := nameByPath(path); got != want {
			t.Errorf("%s is called %s, not %s", path, got, want)
		}
	}
}

func TestMentions(t *testing.T) {
	for _, c := range []struct {
		path, name string
		want       bool
	}{
		{"github.com/goccy/go-yaml", "yaml", true}, {"gopkg.in/yaml.v3", "yaml", true}, {"github.com/mattn/go-sqlite3", "sqlite3", true},
		{"example.com/go-foo/v2", "foo", true}, {"example.com/foo-bar", "foobar", true}, {"example.com/Foo", "foo", true}, {"example.com/foo", "foo_bar", false},
		{"example.com/yaml/x/y", "yaml", false}, {"fmt", "os", false},
	} {
		if got := mentions(c.path, c.name); got != c.want {
			t.Errorf("%s mentions %s: %v", c.path, c.name, got)
		}
	}
}
