package live

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// guardArgument is the first argument of a guard; the second is the mark of its processes.
const guardArgument = "guard-of-petrock-dev"

// startGuard starts a process that ends all processes with a variable in their environment when
// this process has ended, even if it was killed: servers that ignore the end of their input, and
// processes that they or the go command have started, in sessions of their own too. Close stop when
// they should have ended.
func startGuard() (variable string, stop io.Closer, err error) {
	mark := fmt.Sprintf("PETROCK_DEV=%d-%x", os.Getpid(), rand.Uint64())
	in, end, err := os.Pipe()
	if err != nil {
		return "", nil, err
	}
	defer in.Close()
	cmd := exec.Cmd{
		Path: "/proc/self/exe", Args: []string{os.Args[0], guardArgument, mark}, Stdin: in,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // signals of the terminal do not reach it
	}
	if err := cmd.Start(); err != nil {
		end.Close()
		return "", nil, fmt.Errorf("start the guard of petrock dev: %w", err)
	}
	go cmd.Wait()
	return mark, end, nil
}

// Guard runs a guard and returns true if petrock dev started this process as one. Main calls it
// first, if [Options].Guard is set.
func Guard() bool {
	if len(os.Args) != 3 || os.Args[1] != guardArgument {
		return false
	}
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	_, _ = io.Copy(io.Discard, os.Stdin) // until petrock dev has ended
	for _, s := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
		for range 40 { // 2 seconds
			marked := markedProcesses(os.Args[2])
			if len(marked) == 0 {
				return true
			}
			for _, pid := range marked {
				_ = syscall.Kill(pid, s) // it may have ended
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return true
}

// markedProcesses returns the processes that have a variable, written NAME=VALUE, in their
// environment.
func markedProcesses(variable string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	for _, file := range files {
		environ, _ := os.ReadFile(file) // fails for processes of other users, and those that have ended
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+variable+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}
