package gen

import "fmt"

// Maximum lengths of names in clients, with the prefixes that they add.
const (
	longestCall   = 64 // mcp__PROJECT__NAME, as Claude Code calls it
	longestCursor = 60 // Cursor counts the server's name and the tool's
)

// MaxNameLength returns the maximum length of a wire name in a project that all clients accept. It is 0
// if the project's name is too long.
func MaxNameLength(project string) int {
	return max(0, min(longestCall-len("mcp__"+project+"__"), longestCursor-len(project)))
}

// CheckGeneratorName returns an error if some clients would reject the tool of a generator with this
// name on the dev server, whose name is petrock.
func CheckGeneratorName(name string) error { return CheckWireName("generate_"+name, "petrock") }

// CheckWireName returns an error if some clients would reject a wire name in a project. Names from
// [ParseName] can only be too long.
func CheckWireName(name, project string) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("clients do not take the name %q: %s", Shorten(name), fmt.Sprintf(format, args...))
	}
	if err := check(name, "-_", len(name)); err != nil {
		return refuse("%v", err)
	}
	switch limit, n := MaxNameLength(project), len(name); {
	case limit == 0:
		return refuse("they put the project's name before it, and %q leaves no room for more; give the project a shorter one", Shorten(project))
	case n > limit:
		return refuse("it has %d characters, %d more than the %d that are left when they put the server's name, %q, before it; choose a shorter one",
			n, n-limit, limit, Shorten(project))
	}
	return nil
}
