package trial

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// environ returns the environment of a test: the few variables that programs need, with home and
// temporary folders in one folder. Other variables, such as credentials, are not passed on.
func environ(folder string, l Limits) []string {
	along := []string{
		"PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH",
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
	}
	var env []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		name = strings.ToUpper(name) // Windows ignores case
		if slices.Contains(along, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, pair)
		}
	}
	for _, name := range []string{"HOME", "TMPDIR", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP", "PWD"} {
		env = append(env, name+"="+folder)
	}
	// Go collects garbage before it reaches the limit.
	return append(env, fmt.Sprintf("GOMEMLIMIT=%d", l.Memory/8*7))
}
