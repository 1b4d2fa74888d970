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

// supervisorName is the name under which this program is started as a supervisor.
const supervisorName = "petrock-trial"

// A supervisorConfig is the first message on the socket from petrock to a supervisor. When petrock
// closes the socket, or ends, the test ends.
type supervisorConfig struct {
	Folder   string // the only folder that the test may write to
	Memory   int64
	Isolated bool // the supervisor is the first process of new namespaces
	Offline  bool // including a network namespace
}

// A started message reports the start of the test.
type started struct {
	Confined       bool          // writes outside the folder are refused
	ReadOnly       bool          // changes of modes, owners and times are refused too
	SignalsBlocked bool          // Landlock refuses signals to the supervisor
	Errno          syscall.Errno // why the test was not started; 0 if it was
}

// An ended message reports the end of the test.
type ended struct {
	Status      int    // exit code; negative if a signal ended the test
	Description string // the signal, if there was one
}

// Supervise runs a test and returns true if a trial started this process as a supervisor. A program that
// runs trials must call it first, and exit if it returns true.
func Supervise() bool {
	if os.Args[0] != supervisorName {
		return false
	}
	const fd = 3
	syscall.CloseOnExec(fd)
	signal.Notify(make(chan os.Signal, 1)) // ignore signals, so that the test cannot end the supervisor
	runtime.LockOSThread()                 // restrictions apply to this thread and the test that it starts
	socket := os.NewFile(fd, "supervisor")
	read, report := json.NewDecoder(socket), json.NewEncoder(socket)
	var o supervisorConfig
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
		s.ReadOnly = errors.Join(mountReadOnly(o.Folder), dropCapabilities()) == nil
	} else {
		prctl(setChildSubreaper, 1)
	}
	version := confine(o.Folder)
	s.Confined, s.SignalsBlocked = version >= 3 || s.ReadOnly, version >= 6
	lowerLimit(syscall.RLIMIT_DATA, 2*uint64(o.Memory))
	lowerLimit(syscall.RLIMIT_FSIZE, uint64(o.Memory))
	lowerLimit(syscall.RLIMIT_CORE, 0)
	if s.ReadOnly {
		const rlimitNproc = 6                   // on all architectures but mips; counts threads too
		lowerLimit(rlimitNproc, 8*maxProcesses) // of this user namespace, unless the user is root
	}
	if err := cmd.Start(); err != nil && !errors.As(err, &s.Errno) {
		s.Errno = syscall.EINVAL
	}
	report.Encode(s)
	if s.Errno != 0 {
		return true
	}
	go func() {
		read.Decode(new(supervisorConfig)) // returns when petrock closes the socket
		cmd.Process.Kill()
	}()
	status := waitFor(cmd.Process.Pid)
	cmd.Process.Release() // another process may have its id by now
	if !o.Isolated {
		killDescendants()
	}
	end := ended{Status: status.ExitStatus()}
	if status.Signaled() {
		end.Description = "signal: " + status.Signal().String()
	}
	report.Encode(end)
	return true
}

// waitFor waits for a child. Meanwhile it reaps orphans, which would otherwise count as processes of the
// test.
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

func prctl(operation, value uintptr) error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, operation, value, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// mountReadOnly makes all mounts in this mount namespace read-only, except a folder, which becomes the
// working directory. If the system permits, /proc shows only the processes of this PID namespace.
func mountReadOnly(folder string) error {
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

// dropCapabilities drops the capabilities of this thread and of programs that it executes. Other threads
// keep theirs, so it also prevents other processes from tracing this one.
func dropCapabilities() error {
	if err := errors.Join(prctl(setDumpable, 0), prctl(setNoNewPrivs, 1)); err != nil {
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

// lowerLimit lowers a resource limit of this process. Errors are ignored.
func lowerLimit(resource int, value uint64) {
	limit := syscall.Rlimit{Max: value}
	syscall.Getrlimit(resource, &limit)
	limit.Max = min(limit.Max, value)
	limit.Cur = limit.Max
	syscall.Setrlimit(resource, &limit)
}

// killDescendants kills all descendants of this process, which adopts orphans, until none are left.
func killDescendants() {
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
