package live

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/jsonrpc"
)

var (
	recoveryTime = flag.Duration("recovery", time.Second, "how long TestRecovery goes on")
	recoverySeed = flag.Uint64("seed", 1, "seed of TestRecovery")
)

// While clients call, the servers are killed, builds fail, and files change at random moments.
// Every call gets an answer or an error within its timeout, and the session goes on. In the end,
// the server has the tools of the files.
func TestRecovery(t *testing.T) {
	w := newWorld(t)
	random := rand.New(rand.NewPCG(*recoverySeed, 0))
	c := w.connect(client.Options{Timeout: 15 * time.Second})
	call(t, c, "one")
	var answers, failures atomic.Int64
	var done atomic.Bool
	var callers sync.WaitGroup
	for i := range 4 {
		callers.Go(func() {
			for !done.Load() {
				tool := []string{"one", "touch", Prefix + "build", "one"}[i]
				result, err := c.CallTool(t.Context(), tool, nil)
				switch {
				case err == nil && !result.IsError:
					answers.Add(1)
				case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jsonrpc.ErrClosed):
					t.Errorf("%s: %v", tool, err)
					return
				default:
					failures.Add(1)
				}
			}
		})
	}
	kills := 0
	end := time.Now().Add(*recoveryTime)
	for n := 0; time.Now().Before(end) || kills == 0 || answers.Load() == 0; n++ { // a busy machine needs longer
		switch random.IntN(5) {
		case 0, 1:
			for _, k := range []kind{serverKind, petrockKind} {
				if p := anyPeer(w.sup, k); p != nil && random.IntN(3) > 0 {
					kills++
					process, _ := os.FindProcess(p.process.PID())
					process.Kill()
				}
			}
		case 2:
			w.change("tools", fmt.Sprintf("one\nround%d\n", n))
		case 3:
			w.setFailure(errors.New("build cmd/hello: a mistake"))
			w.change("other", fmt.Sprint(n))
		case 4:
			w.setFailure(nil)
			w.change("other", fmt.Sprint(n))
		}
		time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
	}
	done.Store(true)
	callers.Wait()
	w.setFailure(nil)
	w.change("tools", "one\nlast\n")
	waitFor(t, func() bool {
		result, err := c.CallTool(t.Context(), "last", nil)
		return err == nil && !result.IsError
	}, "the last tool does not answer")
	t.Logf("%d answers, %d errors, %d kills", answers.Load(), failures.Load(), kills)
}

func (w *world) setFailure(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failure = err
}

func anyPeer(s *Supervisor, k kind) *peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.sessions {
		if p := session.slots[k].current.Load(); p != nil {
			return p
		}
	}
	return nil
}

// If the supervisor is killed, its servers end too.
func TestSupervisorKilled(t *testing.T) {
	w := newWorld(t)
	pid := killSupervisor(t, w)
	waitFor(t, func() bool { return !isRunning(pid) || isZombie(pid) }, "the server still runs")
}

// killSupervisor runs a supervisor in a process, which it kills, and returns the id of the server.
func killSupervisor(t *testing.T, w *world) (pid int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Dir = w.root
	cmd.Env = append(os.Environ(), supervisorVariable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := client.Over(t.Context(), jsonrpc.NewLines(out, in, jsonrpc.LinesOptions{}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	said := call(t, c, "one")
	_, id, _ := strings.Cut(said, "process ")
	if _, err := fmt.Sscan(id, &pid); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Kill()
	_ = cmd.Wait()
	return pid
}

// isZombie reports whether a process has ended and only waits for its parent, on Linux.
func isZombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// superviseTest runs a supervisor on standard input and output, in the working directory.
func superviseTest() error {
	w := &world{root: "."}
	variable, _, err := startGuard()
	if err != nil {
		return err
	}
	s := start(Options{Root: ".", Name: "hello", Log: os.Stderr, environ: append(os.Environ(), variable)}, files{
		snapshot: func() (snapshot, error) { return takeSnapshot(".") },
		build:    w.build,
		features: w.features,
		release:  func(program) {},
		close:    func() error { return nil },
		patience: 10 * time.Second, firstAnswer: 3 * time.Second, slowStart: 10 * time.Second,
	})
	return s.Serve(context.Background(), jsonrpc.NewLines(os.Stdin, os.Stdout, jsonrpc.LinesOptions{}))
}
