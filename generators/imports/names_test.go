package imports

import "testing"

func TestNameByPath(t *testing.T) {
	for path, want := range map[string]string{
		"strings": "strings", "net/http": "http", "math/rand/v2": "rand", "gopkg.in/yaml.v3": "yaml", "gopkg.in/x/yaml.v0": "yaml",
		"example.com/x/v1": "v1", "example.com/x/v10": "x", "example.com/x/v02": "v02", "example.com/x/v2beta1": "v2beta1",
		"example.com/x/v-2": "v-2", "example.com/x/v+2": "v+2", "example.com/x/v": "v", "v2": "v2", "": ".", "/v2": ".",
		"example.com/x.v99999999999999999999": "x.v99999999999999999999", "example.com/go-x": "x",
	} {
		if got := nameByPath(path); got != want {
			t.Errorf("%s is called %s, want %s", path, got, want)
		}
	}
}
