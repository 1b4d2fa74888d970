package derive

import (
	"fmt"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/generators/gen"
)

// Declarations of a feature; Map is optional.
const (
	stateType = "State"
	newState  = "NewState"
	mapFunc   = "Map"
)

var featureName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// CheckFeatureName returns an error if a feature cannot have a name, which is also the name of its
// folder and package.
func CheckFeatureName(name string) error { return checkPackageName("feature", name) }

func checkPackageName(what, name string) error {
	cannotBeImported := token.IsKeyword(name) || slices.Contains([]string{"init", "internal", "main", "vendor"}, name)
	if cannotBeImported || !featureName.MatchString(name) {
		return fmt.Errorf("invalid %s name %q: use lower-case letters and digits, as in blogposts, and no name that is reserved by Go", what, gen.Shorten(name))
	}
	return nil
}

// CheckNewFeatureName is [CheckFeatureName] for a feature that a generator creates. Its name cannot
// be one that generated code uses for something else.
func CheckNewFeatureName(name string) error { return CheckNewPackageName("feature", name) }

// CheckNewPackageName is [CheckNewFeatureName] for a package; what is the word for it in errors.
func CheckNewPackageName(what, name string) error {
	const maxLength = 30
	isUsed := len(name) == 1 || types.Universe.Lookup(name) != nil || project.IsDevice(name) || slices.Contains([]string{
		"app", "appmcp", "appserve", "apptest", "cmd", "context", "core", "errors", "features", "generators", "json", "mcp",
		"mcptest", "oauth", "os", "postgres", "prompts", "register", "resources", "serve", "strings", "testdata", "testing",
		"time", "tools", "wire",
	}, name)
	switch err := checkPackageName(what, name); {
	case err != nil:
		return err
	case len(name) > maxLength:
		return fmt.Errorf("invalid %s name %q: %d characters, at most %d are allowed; choose a shorter one", what, gen.Shorten(name), len(name), maxLength)
	case isUsed:
		return fmt.Errorf("invalid %s name %q: reserved by Go, Windows or generated code; try my%[2]s", what, name)
	}
	return nil
}

// IsReserved reports whether petrock uses a Go name in the package of a place for something other
// than a component.
func (p Place) IsReserved(name string) bool {
	if p.Kind == Feature {
		return slices.Contains([]string{stateType, newState, mapFunc, p.derivedFunc(), "Register", "Event"}, name)
	}
	return slices.Contains([]string{"New", p.derivedFunc(), p.receiver()}, name)
}

// isWireName reports whether [gen.Name.Wire] can return a name.
func isWireName(name string) bool {
	parsed, err := gen.ParseName(name)
	return err == nil && parsed.Wire() == name
}

func (f *finder) checkName(name string) error {
	switch f.place.Kind {
	case Tool, Prompt, Feature:
		return gen.CheckWireName(name, f.Name)
	case Generator:
		return gen.CheckGeneratorName(name)
	}
	return nil
}

// checkDuplicates refuses commands with the same event type and queries with the same name.
// checkClashes compares tool names.
func (f *finder) checkDuplicates() {
	known := map[string]Component{}
	for _, c := range f.found.Components {
		key := string(c.Kind) + " " + c.localName()
		if other, taken := known[key]; taken && c.Kind != Worker { // checkClashes compares workers
			f.problemAt(c.File, c.Line, "%s and %s in %s are both the %s %s/%s; rename one of them", c.Func, other.Func, other.File, c.Kind, c.Feature, c.localName())
		}
		known[key] = c
	}
}

// checkClashes sorts the components and refuses those with the same name or URI.
func (f *finder) checkClashes() {
	slices.SortStableFunc(f.found.Components, func(a, b Component) int { return strings.Compare(a.Name, b.Name) })
	keys := map[string]Component{}
	for _, c := range f.found.Components {
		if c.Kind == Feature || c.isHidden() {
			continue // clients do not see the name
		}
		reserved := []string{"app://log", "app://log{?}", "app://features", "app://workers"}
		if slices.Contains(reserved, withoutVariables(c.URI)) {
			f.problemAt(c.File, c.Line, "%s has the URI %s, which is reserved for a server with features; change it with //petrock:uri", c.Func, c.URI)
		}
		names := []string{"name " + c.Name, "URI " + c.URI}
		for _, alias := range c.Aliases {
			names = append(names, "name "+alias)
		}
		for _, key := range names {
			family := withoutVariables(key)
			other, taken := keys[family]
			if taken && key != "URI " {
				f.problemAt(c.File, c.Line, "%s has the %s, which %s in %s already has; change one of them with a directive", c.Func, key, other.Func, other.File)
			}
			keys[family] = c
		}
	}
}

var templateVariable = regexp.MustCompile(`\{([+?]?)[^{}]*\}`)

// withoutVariables returns a URI template without the names of its variables. Templates that differ
// only in them match the same URIs.
func withoutVariables(uri string) string {
	return templateVariable.ReplaceAllString(uri, "{$1}")
}
