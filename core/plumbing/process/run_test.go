//go:build unix

package process_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/petrock/petrock/core/plumbing/process"
)

// When the context ends, the children of a program in its own process group end too.
func TestRunGroup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	child := make(chan int, 1)
	go func() {
		defer cancel()
		for range 1000 {
			text, _ := os.ReadFile(file)
			if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
				child <- pid
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		child <- 0
	}()
	script := "(trap '' INT; sleep 60 >/dev/null 2>&1) & echo $! >" + file + "; wait"
	_, _, err := process.Run(ctx, process.RunOptions{Group: true}, "sh", "-c", script)
	if err != context.Canceled {
		t.Errorf("the run ends with %v, want %v", err, context.Canceled)
	}
	pid := <-child
	if pid == 0 {
		t.Fatal("the child did not start")
	}
	for range 400 {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if strings.Contains(string(text), ") Z ") {
			return // killed, but not reaped
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("the child goes on")
}
