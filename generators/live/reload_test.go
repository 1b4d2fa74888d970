package live

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
)

// Replacing the server, 1,000 times with -long, leaves no goroutine, open file, process, executable
// or memory behind.
func TestReloadsLeakNothing(t *testing.T) {
	reloads := 30
	if *long {
		reloads = 1000
	}
	stored := &builder{root: t.TempDir(), dir: t.TempDir()}
	w := newWorld(t, func(w *world) { w.stored, w.alone = stored, true })
	c := w.connect(client.Options{})
	reload := func(i int) {
		t.Helper()
		before := call(t, c, "one")
		w.change("tools", fmt.Sprintf("one\n%d\n", i))
		waitFor(t, func() bool { return call(t, c, "one") != before }, "no new server")
	}
	for i := range 10 {
		reload(i)
	}
	// Connections that are ending count too, so the counts are those of the quietest moment.
	quietest := func() (least leaks) {
		for i := range 20 {
			if now := countLeaks(t, stored.dir); i == 0 || now.total() < least.total() {
				least = now
			}
			time.Sleep(20 * time.Millisecond)
		}
		return least
	}
	before := quietest()
	for i := range reloads {
		reload(10 + i)
	}
	var after leaks
	waitFor(t, func() bool { after = quietest(); return after.total() <= before.total() }, "after the reloads there are more goroutines, files, processes or executables than before")
	t.Logf("before %d reloads: %v; after: %v", reloads, before, after)
	if after.executables > before.executables || after.heap > before.heap+8<<20 {
		t.Errorf("before the reloads: %v; after: %v; want no more executables, and at most 8 MiB more", before, after)
	}
}

// leaks counts what reloads may leave behind.
type leaks struct {
	goroutines, files, processes, executables int
	heap                                      uint64 // bytes
}

func (l leaks) total() int { return l.goroutines + l.files + l.processes + l.executables }

func (l leaks) String() string {
	return fmt.Sprintf("%d goroutines, %d open files, %d processes, %d executables, %d KiB", l.goroutines, l.files, l.processes, l.executables, l.heap>>10)
}

// countLeaks counts executables in a folder, and files and processes where the system shows them.
func countLeaks(t *testing.T, folder string) leaks {
	t.Helper()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	files, _ := os.ReadDir("/proc/self/fd") // only on Linux
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	processes := 0
	for _, task := range tasks {
		children, _ := os.ReadFile(task) // the task may have ended
		processes += len(strings.Fields(string(children)))
	}
	executables, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return leaks{runtime.NumGoroutine(), len(files), processes, len(executables), memory.HeapAlloc}
}
