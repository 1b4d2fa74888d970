//go:build !windows && (!unix || solaris || aix)

package sqlite

// hasNoSpace reports false: errors differ between these systems.
func hasNoSpace(error) bool { return false }
