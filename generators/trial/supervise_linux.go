package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
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

// supervisesTest runs a test and returns true if a trial started this process as a supervisor.
func supervisesTest() bool {
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
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	version := confine(o.Folder)
	s.Confined, s.SignalsBlocked = version >= 3 || s.ReadOnly, version >= 6
	lowerLimit(syscall.RLIMIT_DATA, 2*uint64(o.Memory))
	lowerLimit(syscall.RLIMIT_FSIZE, uint64(o.Memory))
	lowerLimit(syscall.RLIMIT_CORE, 0)
	if s.ReadOnly {
		lowerLimit(unix.RLIMIT_NPROC, 8*maxProcesses) // of this user namespace, unless the user is root; counts threads too
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

// waitFor waits for a child. Meanwhile it reaps orphans, which would otherwise count as processes
// of the test.
func waitFor(child int) (status syscall.WaitStatus) {
	for {
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if pid == child || err != nil && err != syscall.EINTR {
			return status
		}
	}
}

// mountReadOnly makes all mounts in this mount namespace read-only, except a folder, which becomes
// the working directory. If the system permits, /proc shows only the processes of this PID
// namespace.
func mountReadOnly(folder string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "")
	if err := syscall.Mount(folder, folder, "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return err
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, folder, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return err
	}
	return os.Chdir(folder)
}

// dropCapabilities drops the capabilities of this thread and of programs that it executes. Other
// threads keep theirs, so it also prevents other processes from tracing this one.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return errors.Join(
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
		unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
		unix.Capset(&header, &none[0]),
	)
}

// raiseLoopback brings up the loopback interface of a new network namespace. Errors are ignored.
func raiseLoopback() {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(socket)
	if request, err := unix.NewIfreq("lo"); err == nil {
		request.SetUint16(unix.IFF_UP)
		unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
	}
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

// writeRights are the rights of Landlock that version 1 has, without those to read and execute.
const writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
	unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
	unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM

// landlockVersion returns the version of Landlock that the kernel supports; 0 if none.
func landlockVersion() int {
	n, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// confine prevents this thread and the processes that it starts from writing outside a folder, and
// from sending signals to other processes. It returns the version of Landlock, 0 if none. Before
// version 3 files can be truncated, before version 6 signals can be sent. Modes, owners and times
// of files can always be changed.
//
// The restriction cannot be lifted: the thread must be locked, and must end afterwards.
func confine(folder string) int {
	version := landlockVersion()
	if version == 0 {
		return 0
	}
	rules := unix.LandlockRulesetAttr{Handled_access_fs: writeRights}
	if version >= 2 {
		rules.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		rules.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 6 {
		rules.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), unsafe.Sizeof(rules), 0)
	if errno != 0 {
		return 0
	}
	ruleset := int(fd)
	defer syscall.Close(ruleset)
	if !allow(ruleset, folder, rules.Handled_access_fs) {
		return 0
	}
	for _, device := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} {
		allow(ruleset, device, rules.Handled_access_fs&(unix.LANDLOCK_ACCESS_FS_WRITE_FILE|unix.LANDLOCK_ACCESS_FS_TRUNCATE))
	}
	if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != nil {
		return 0
	}
	_, _, errno = syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
	if errno != 0 {
		return 0
	}
	return version
}

// allow permits access below a path in a ruleset, and reports whether it succeeded.
func allow(ruleset int, path string, access uint64) bool {
	file, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(file)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(file)}
	_, _, errno := syscall.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	runtime.KeepAlive(&rule)
	return errno == 0
}

// ownTimeout returns the value of -test.timeout: none, because the test ends with this process.
// Without a timer, the runtime detects deadlocks.
func ownTimeout(time.Duration) time.Duration { return 0 }

// startTimeout limits how long a supervisor may take to start the test.
const startTimeout = 10 * time.Second

// A testProcess is a running test below its supervisor.
type testProcess struct {
	supervisor *exec.Cmd
	socket     *os.File // closed to end the test
	reports    *json.Decoder
	config     supervisorConfig
	started    started
	wasBig     bool // used too much memory at the last check
}

// start starts a test with a supervisor, in new namespaces if the system permits.
func start(test *exec.Cmd, folder string, l Limits) (*testProcess, error) {
	if os.Args[0] == supervisorName {
		return nil, errors.New("the program that runs trials does not call trial.Supervise first")
	}
	p, err := supervise(test, supervisorConfig{folder, l.Memory, true, l.NoNet}, startTimeout)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		p, err = supervise(test, supervisorConfig{Folder: folder, Memory: l.Memory}, startTimeout)
	}
	return p, err
}

// supervise starts another process of this program as the supervisor of a test. It fails if the
// supervisor does not answer within the timeout.
func supervise(test *exec.Cmd, o supervisorConfig, timeout time.Duration) (*testProcess, error) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	socket, other := os.NewFile(uintptr(ends[0]), "supervisor"), os.NewFile(uintptr(ends[1]), "supervisor")
	defer other.Close()
	attributes := &syscall.SysProcAttr{Setsid: true}
	if o.Isolated {
		attributes.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC
		if o.Offline {
			attributes.Cloneflags |= syscall.CLONE_NEWNET
		}
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		attributes.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN}
	}
	p := &testProcess{socket: socket, reports: json.NewDecoder(socket), config: o, supervisor: &exec.Cmd{
		Path: "/proc/self/exe", Args: append([]string{supervisorName}, test.Args...), Dir: test.Dir, Env: test.Env,
		Stdout: test.Stdout, Stderr: test.Stderr, WaitDelay: test.WaitDelay, ExtraFiles: []*os.File{other}, SysProcAttr: attributes,
	}}
	if err := p.supervisor.Start(); err != nil {
		socket.Close()
		return nil, err
	}
	other.Close() // so that reads end with the supervisor
	json.NewEncoder(socket).Encode(o)
	socket.SetReadDeadline(time.Now().Add(timeout))
	err = p.reports.Decode(&p.started)
	switch {
	case err != nil:
		err = fmt.Errorf("start supervisor: %w; the program that runs trials must call trial.Supervise first", err)
	case p.started.Errno != 0:
		err = fmt.Errorf("start test: %w", p.started.Errno)
	default:
		socket.SetReadDeadline(time.Time{})
		return p, nil
	}
	p.supervisor.Process.Kill() // the test ends with it
	p.wait()
	return nil, err
}

// kill kills the test and its children. It does not wait for them.
func (p *testProcess) kill() {
	if p.config.Isolated {
		p.supervisor.Process.Kill() // the kernel kills its whole PID namespace
		return
	}
	p.socket.Close()
}

// wait waits for the test and its children, and returns the exit status of the test.
func (p *testProcess) wait() (status int, description string) {
	e := ended{-1, "its supervisor was killed"}
	p.reports.Decode(&e)
	p.supervisor.Wait()
	p.socket.Close()
	return e.Status, e.Description
}

// exceeds describes the limit that the test and its children exceed. It is empty if they exceed
// none.
func (p *testProcess) exceeds(l Limits) string {
	processes := descendants(p.supervisor.Process.Pid)
	memory := int64(0)
	for _, pid := range processes {
		memory += resident(pid)
	}
	wasBig := p.wasBig
	p.wasBig = memory > l.Memory
	switch {
	case len(processes) > maxProcesses:
		return "started more than " + strconv.Itoa(maxProcesses) + " processes"
	case p.wasBig && (wasBig || len(processes) == 1): // between fork and exec, a process shares its parent's memory
		return l.memoryExceeded()
	}
	return ""
}

// resident returns the resident memory of a process, without that of files; 0 if unknown. Limiting
// the address space instead would crash Go, which reserves more than it uses.
func resident(pid int) (size int64) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && (fields[0] == "RssAnon:" || fields[0] == "RssShmem:") {
			kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
			size += kilobytes << 10
		}
	}
	return size
}

func (p *testProcess) unenforced(l Limits) []string {
	_, err := os.Stat("/proc/thread-self/children")
	all := []string{}
	for limit, held := range map[string]bool{
		limitChildren:   p.config.Isolated || err == nil && p.started.SignalsBlocked,
		limitMemory:     err == nil,
		limitWrites:     p.started.Confined,
		limitAttributes: p.started.ReadOnly,
		limitNetwork:    p.config.Offline || !l.NoNet,
	} {
		if !held {
			all = append(all, limit)
		}
	}
	slices.Sort(all)
	return all
}
