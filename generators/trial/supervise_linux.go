package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// A supervisor is the parent of a test: the calling program, started once more under this name.
const supervisorName = "petrock-trial"

// orders are what a supervisor reads first from its line to petrock. When petrock closes the line,
// or ends, the test ends.
type orders struct {
	Folder   string // the only one that the test may write to
	Memory   int64
	Isolated bool // the supervisor is the first process of its own namespaces
	Offline  bool // one of them is a network namespace
}

// started is what a supervisor reports before the test runs.
type started struct {
	Confined bool          // writes outside the folder are refused
	Frozen   bool          // so are changes of modes, owners and times
	Shielded bool          // Landlock refuses signals to the supervisor
	Errno    syscall.Errno // why the test could not be started; 0 if it was
}

// ended is what a supervisor reports when the test has ended.
type ended struct {
	Status int    // exit code; negative if a signal ended the test
	Words  string // the signal, if there was one
}

// Supervise runs a test and returns true, if a trial started this process for that. A program that
// runs trials calls it first, and exits if it returns true.
func Supervise() bool {
	if os.Args[0] != supervisorName {
		return false
	}
	const fd = 3
	syscall.CloseOnExec(fd)
	signal.Notify(make(chan os.Signal, 1)) // the test cannot end it
	runtime.LockOSThread()                 // what follows restricts this thread, and the test that it starts
	line := os.NewFile(fd, "line")
	read, report := json.NewDecoder(line), json.NewEncoder(line)
	var o orders
	if err := read.Decode(&o); err != nil {
		return true
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var s started
	if o.Offline {
		raiseLoopback()
	}
	if o.Isolated {
		s.Frozen = errors.Join(freeze(o.Folder), dropCapabilities()) == nil
	} else {
		control(setChildSubreaper, 1)
	}
	version := confine(o.Folder)
	s.Confined, s.Shielded = version >= 3 || s.Frozen, version >= 6
	lower(syscall.RLIMIT_DATA, 2*uint64(o.Memory))
	lower(syscall.RLIMIT_FSIZE, uint64(o.Memory))
	lower(syscall.RLIMIT_CORE, 0)
	if s.Frozen {
		const processesAndThreads = 6               // on all architectures but mips
		lower(processesAndThreads, 8*mostProcesses) // of this user namespace, unless the user is root
	}
	if err := cmd.Start(); err != nil && !errors.As(err, &s.Errno) {
		s.Errno = syscall.EINVAL
	}
	report.Encode(s)
	if s.Errno != 0 {
		return true
	}
	go func() {
		read.Decode(new(orders)) // returns when the line is closed
		cmd.Process.Kill()
	}()
	status := waitFor(cmd.Process.Pid)
	cmd.Process.Release() // its id may be that of another process by now
	if !o.Isolated {
		endChildren()
	}
	report.Encode(ended{status.ExitStatus(), "signal: " + status.Signal().String()})
	return true
}

// waitFor waits until a child ends. Until then it reaps the orphans that this process adopts, or
// they would count as processes of the test.
func waitFor(child int) (status syscall.WaitStatus) {
	for {
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if pid == child || err != nil && err != syscall.EINTR {
			return status
		}
	}
}

// Operations of prctl.
const (
	setDumpable       = 4
	setChildSubreaper = 36
	setNoNewPrivs     = 38
)

func control(operation, value uintptr) error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, operation, value, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// freeze makes all that is mounted read-only in this mount namespace, but for a folder, which
// becomes the working directory. /proc shows the processes of this PID namespace alone, if the
// system permits that.
func freeze(folder string) error {
	const readOnly, recursive = 1, 0x8000
	setAttributes := func(path string, flags uintptr, set, clear uint64) error {
		const mountSetattr = 442 // on all architectures but mips; path is absolute
		name, err := syscall.BytePtrFromString(path)
		if err != nil {
			return err
		}
		a := struct{ set, clear, propagation, userns uint64 }{set: set, clear: clear}
		if _, _, errno := syscall.RawSyscall6(mountSetattr, 0, uintptr(unsafe.Pointer(name)), flags, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a), 0); errno != 0 {
			return errno
		}
		return nil
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "")
	if err := syscall.Mount(folder, folder, "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	if err := setAttributes("/", recursive, readOnly, 0); err != nil {
		return err
	}
	if err := setAttributes(folder, 0, 0, readOnly); err != nil {
		return err
	}
	return os.Chdir(folder)
}

// dropCapabilities takes the capabilities of this thread in its user namespace, also from what it
// executes as root. Other processes cannot trace this one, whose other threads keep theirs.
func dropCapabilities() error {
	if err := errors.Join(control(setDumpable, 0), control(setNoNewPrivs, 1)); err != nil {
		return err
	}
	const version3 = 0x20080522
	header := struct {
		version uint32
		pid     int32
	}{version: version3}
	var none [6]uint32
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0); errno != 0 {
		return errno
	}
	return nil
}

// raiseLoopback brings up the loopback interface of a new network namespace. Errors are ignored.
func raiseLoopback() {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(socket)
	request := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{name: [16]byte{'l', 'o'}, flags: syscall.IFF_UP}
	syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(socket), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
}

// lower lowers a resource limit of this process. Errors are ignored.
func lower(resource int, most uint64) {
	limit := syscall.Rlimit{Max: most}
	syscall.Getrlimit(resource, &limit)
	limit.Max = min(limit.Max, most)
	limit.Cur = limit.Max
	syscall.Setrlimit(resource, &limit)
}

// endChildren kills all processes below this one, which adopts orphans, until there are none.
func endChildren() {
	for {
		for _, pid := range descendants(os.Getpid()) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if err == syscall.ECHILD {
				return
			}
			if pid <= 0 {
				break
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// descendants returns the ids of the processes below one.
func descendants(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		dir := fmt.Sprintf("/proc/%d/task", all[i])
		threads, _ := os.ReadDir(dir)
		for _, thread := range threads {
			children, _ := os.ReadFile(dir + "/" + thread.Name() + "/children")
			for _, child := range strings.Fields(string(children)) {
				if id, err := strconv.Atoi(child); err == nil {
					all = append(all, id)
				}
			}
		}
	}
	return all[1:]
}
