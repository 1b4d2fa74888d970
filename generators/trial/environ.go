package trial

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// environ is the environment of a test: what a program needs to find others and to know where it
// is, of what is in this one. Its folders are all one. Nothing else comes along, least of all what
// nobody should know.
func environ(folder string, l Limits) []string {
	along := []string{
		"PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH",
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
	}
	var env []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		name = strings.ToUpper(name) // Windows knows SystemRoot as well
		if slices.Contains(along, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, pair)
		}
	}
	for _, name := range []string{"HOME", "TMPDIR", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP", "PWD"} {
		env = append(env, name+"="+folder)
	}
	// Go collects garbage before the limit is reached, and not only at twice of what is in use.
	return append(env, fmt.Sprintf("GOMEMLIMIT=%d", l.Memory/8*7))
}
