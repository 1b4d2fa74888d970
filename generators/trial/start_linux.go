package trial

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// ownTimeout is the limit of time that a test is told itself: none, since the system ends it
// together with this process. A program without timers and C notices when all of it waits for ever.
func ownTimeout(time.Duration) time.Duration { return 0 }

// start starts a test, which may write below a folder alone if the system can see to that.
//
// Both that and the signal by which the test ends with this process belong to the thread that
// starts it, so that gets a thread of its own, which waits until the test has ended, and ends then.
// Go makes no other threads from it.
func start(cmd *exec.Cmd, folder string, l Limits) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	p := &process{cmd: cmd, release: func() { close(ended) }}
	onThread(func() {
		p.confined = confine(folder)
		err := cmd.Start()
		started <- err
		if err == nil {
			<-ended
		}
	})
	if err := <-started; err != nil {
		return nil, err
	}
	limitTo(cmd.Process.Pid, syscall.RLIMIT_DATA, 2*uint64(l.Memory))
	limitTo(cmd.Process.Pid, syscall.RLIMIT_FSIZE, uint64(l.Memory))
	limitTo(cmd.Process.Pid, syscall.RLIMIT_CORE, 0)
	return p, nil
}

// onThread calls a function on a thread that ends with it. The first thread of a process never
// does: it is held while another is found.
func onThread(do func()) {
	go func() {
		runtime.LockOSThread() // for good: that is what ends the thread
		if syscall.Gettid() != syscall.Getpid() {
			do()
			return
		}
		found := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(found)
			do()
		}()
		<-found
		runtime.UnlockOSThread()
	}()
}

// limitTo limits what a process may have of a resource, if it may have more now. A system that
// does not allow that leaves it as it is.
func limitTo(pid int, resource int, most uint64) {
	var limit struct{ current, most uint64 }
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), uintptr(resource), 0, uintptr(unsafe.Pointer(&limit)), 0, 0); errno != 0 {
		limit.most = math.MaxUint64
	}
	most = min(most, limit.most)
	limit.current, limit.most = most, most
	syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), uintptr(resource), uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
}

// resident is how much memory a process uses that was not reaped, as far as is known. Go asks
// the system for more than it uses, and crashes in many ways if it does not get that.
func resident(cmd *exec.Cmd) int64 {
	sizes, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", cmd.Process.Pid))
	if fields := strings.Fields(string(sizes)); len(fields) > 1 {
		pages, _ := strconv.ParseInt(fields[1], 10, 64)
		return pages * int64(os.Getpagesize())
	}
	return 0
}

// awaitExit waits until a process has ended, and leaves it as it is: until it is reaped, its
// number and that of its group belong to nobody else.
func awaitExit(cmd *exec.Cmd) {
	const byPid, exited, noWait = 1, 0x4, 0x1000000
	for {
		var info [128]byte
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPid, uintptr(cmd.Process.Pid), uintptr(unsafe.Pointer(&info)), exited|noWait, 0, 0)
		switch errno {
		case syscall.EINTR:
			continue
		case 0:
		default:
			cmd.Wait() // the number may be taken then, which is very unlikely
		}
		return
	}
}

// reap fills in how a process ended, which has.
func reap(cmd *exec.Cmd) { cmd.Wait() }
