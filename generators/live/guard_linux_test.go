package live

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If the supervisor is killed, a server that ignores the end of its input ends too, and so does a
// process that it started in a session of its own.
func TestGuard(t *testing.T) {
	w := newWorld(t, func(w *world) { w.blocked = make(chan struct{}); w.write("rogue", "") })
	pid := killSupervisor(t, w)
	var left []string
	waitFor(t, func() bool { left = runningIn(t, w.root); return len(left) == 0 }, fmt.Sprintf("of the server %d still run: %q", pid, left))
}

// runningIn returns the command lines of processes whose working directory is root.
func runningIn(t *testing.T, root string) (lines []string) {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if cwd, err := os.Readlink(folder + "/cwd"); err == nil && cwd == root {
			line, _ := os.ReadFile(folder + "/cmdline") // it may have ended
			lines = append(lines, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return lines
}
