package gen

import "fmt"

// What clients allow for a name together with what they put before it.
const (
	longestCall   = 64 // mcp__PROJECT__NAME, as Claude Code calls it
	longestCursor = 60 // Cursor counts the server's name and the tool's
)

// MaxNameLength is how many characters a wire name may have in a project so that all clients take it. It
// is 0 if the project's name leaves no room.
func MaxNameLength(project string) int {
	return max(0, min(longestCall-len("mcp__"+project+"__"), longestCursor-len(project)))
}

// CheckGeneratorName says why some client would not take the tool that the dev server, called
// petrock, makes of a generator of this name, and what to do.
func CheckGeneratorName(name string) error { return CheckWireName("generate_"+name, "petrock") }

// CheckWireName says why some client would not take a wire name of a project, and what to do. Names
// from [ParseName] can only be too long; others were written by hand, or come from an identifier.
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
