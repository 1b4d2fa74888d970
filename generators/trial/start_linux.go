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

// ownTimeout is the value of -test.timeout: none, since the kernel kills the test with this process.
// Without a timer, the runtime detects deadlocks.
func ownTimeout(time.Duration) time.Duration { return 0 }

// start starts a test, confined to write below a folder if the kernel supports that.
//
// The confinement and the parent-death signal belong to the thread that starts the test. That is a
// separate thread, which exits after the test; Go does not clone other threads from it.
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

// onThread calls a function on a thread that ends with it. The main thread of a process never ends, so
// it is locked while another thread is found.
func onThread(do func()) {
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends
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

// limitTo lowers a resource limit of a process. Errors are ignored.
func limitTo(pid int, resource int, most uint64) {
	var limit struct{ current, most uint64 }
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), uintptr(resource), 0, uintptr(unsafe.Pointer(&limit)), 0, 0); errno != 0 {
		limit.most = math.MaxUint64
	}
	most = min(most, limit.most)
	limit.current, limit.most = most, most
	syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), uintptr(resource), uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
}

// resident returns the resident memory of a process; 0 if unknown. Limiting the address space instead
// would crash Go, which reserves more than it uses.
func resident(cmd *exec.Cmd) int64 {
	sizes, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", cmd.Process.Pid))
	if fields := strings.Fields(string(sizes)); len(fields) > 1 {
		pages, _ := strconv.ParseInt(fields[1], 10, 64)
		return pages * int64(os.Getpagesize())
	}
	return 0
}

// awaitExit waits until a process has ended without reaping it, so that its process and group ids stay
// reserved.
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
			cmd.Wait() // the id may be reused, which is very unlikely
		}
		return
	}
}

func reap(cmd *exec.Cmd) { cmd.Wait() }
