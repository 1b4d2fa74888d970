package versions_test

import (
	"testing"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/versions"
)

// A rename has an old and a new name, and a default a value.
func TestPairs(t *testing.T) {
	for want, in := range map[string]versions.VersionInput{
		`rename "url": write it as FIELD=NEW`:        {Name: "posts/create", Rename: []string{"url"}},
		`default "status=": write it as FIELD=VALUE`: {Name: "posts/create", Default: []string{"status="}},
	} {
		if _, err := versions.NewVersion(gen.Project{Name: "hello", Module: "example.com/hello"}, in); err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}
