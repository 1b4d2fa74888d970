package generators_test

import (
	"strings"
	"testing"

	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/gen"
)

// Who names a feature that is not there is told which there are, and which may be meant.
func TestNewFeatureIsTold(t *testing.T) {
	some := map[string]string{"features/posts": "posts", "features/users": "users", "tools": "tools", "features/posts/deep": "deep"}
	for _, c := range []struct {
		name     string
		packages map[string]string
		says     string
	}{
		{"post", some, "There was no feature post, so it was made; those before it are posts, users; is posts meant? Then undo this."},
		{"psots", some, "There was no feature psots, so it was made; those before it are posts, users; is posts meant? Then undo this."},
		{"userss", some, "There was no feature userss, so it was made; those before it are posts, users; is users meant? Then undo this."},
		{"orders", some, "There was no feature orders, so it was made; those before it are posts, users."},
		{"orders", nil, "The feature orders is new: "},
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
		for _, next := range [][]string{command.Next, query.Next} {
			if c.says == "" && strings.Contains(strings.Join(next, " "), "feature posts") || c.says != "" && !strings.HasPrefix(next[0], c.says) {
				t.Errorf("of %s it says %q, not %q", c.name, next, c.says)
			}
		}
	}
}
