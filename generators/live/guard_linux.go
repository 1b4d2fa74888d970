package live

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// guardArgument is the first argument of a guard; the second is the variable.
const guardArgument = "guard-of-petrock-dev"

// startGuard starts a process that ends all processes with a variable in their environment when
// this process has ended, even if it was killed: servers that ignore the end of their input, and
// processes that they or the go command have started, in sessions of their own too. Close stop when
// they should have ended.
func startGuard() (variable string, stop io.Closer, err error) {
	variable = fmt.Sprintf("PETROCK_DEV=%d-%x", os.Getpid(), rand.Uint64())
	cmd := exec.Command("/proc/self/exe", guardArgument, variable)
	cmd.Args[0] = os.Args[0]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // signals of the terminal do not reach it
	stop, err = cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, fmt.Errorf("start the guard of petrock dev: %w", err)
	}
	go cmd.Wait()
	return variable, stop, nil
}

// Guard runs a guard and returns true if petrock dev started this process as one. Main calls it
// first, if [Options].Guard is set.
func Guard() bool {
	if len(os.Args) != 3 || os.Args[1] != guardArgument {
		return false
	}
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	_, _ = io.Copy(io.Discard, os.Stdin) // until petrock dev has ended
	marked := markedProcesses(os.Args[2])
	for i := 0; len(marked) > 0 && i < 120; i++ { // 6 seconds
		for _, pid := range marked {
			_ = syscall.Kill(pid, []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL}[i/40]) // it may have ended
		}
		time.Sleep(50 * time.Millisecond)
		marked = markedProcesses(os.Args[2])
	}
	return true
}

// markedProcesses returns the processes that have a variable, written NAME=VALUE, in their
// environment.
func markedProcesses(variable string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	for _, file := range files {
		environ, _ := os.ReadFile(file) // fails for processes of other users, and those that have ended
		if slices.Contains(strings.Split(string(environ), "\x00"), variable) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file))) // the pattern matches numbers
			pids = append(pids, pid)
		}
	}
	return pids
}
