package generators_test

import (
	"strings"
	"testing"

	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/gen"
)

// A command or query that creates its feature reports it in a notice.
func TestNewFeatureIsTold(t *testing.T) {
	some := map[string]string{"features/posts": "posts", "features/users": "users", "tools": "tools", "features/posts/deep": "deep"}
	for _, c := range []struct {
		name     string
		packages map[string]string
		says     string
	}{
		{"post", some, "The feature post is new."},
		{"orders", some, "The feature orders is new."},
		{"orders", nil, "The feature orders is new."},
		{"posts", some, ""},
	} {
		p := gen.Project{Name: "hello", Module: "example.com/hello", Packages: c.packages}
		command, err := generators.Command(p, generators.CommandInput{Name: c.name + "/publish"})
		if err != nil {
			t.Fatal(err)
		}
		query, err := generators.Query(p, generators.QueryInput{Name: c.name + "/count"})
		if err != nil {
			t.Fatal(err)
		}
		for _, notices := range [][]string{command.Notices, query.Notices} {
			if got := strings.Join(notices, "\n"); got != c.says {
				t.Errorf("of %s: got %q, want %q", c.name, got, c.says)
			}
		}
	}
}
