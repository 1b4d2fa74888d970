package generators_test

import (
	"slices"
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
		{"blog", some, "The feature blog is new."},
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

// The items of a feature named after initialisms have them in capitals, the project's too.
func TestFeatureNamedAfterInitialisms(t *testing.T) {
	for name, want := range map[string]string{"isbns": "ISBNs map[string]*ISBN", "ppms": "PPMs map[string]*PPM", "ids": "Items map[string]*"} {
		p := gen.Project{Name: "hello", Module: "example.com/hello", Initialisms: []string{"ppm"}}
		draft, err := generators.Feature(p, generators.FeatureInput{Name: name, CRUD: true, Fields: []string{"title"}})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(draft.Files, func(f gen.File) bool { return strings.HasSuffix(f.Path, "/state.go") })
		if state := strings.Join(strings.Fields(string(draft.Files[i].Text)), " "); !strings.Contains(state, want) {
			t.Errorf("the state of %s is\n%s\nwant %q in it", name, draft.Files[i].Text, want)
		}
	}
}
