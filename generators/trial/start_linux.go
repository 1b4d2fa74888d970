package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ownTimeout returns the value of -test.timeout: none, because the test ends with this process. Without
// a timer, the runtime detects deadlocks.
func ownTimeout(time.Duration) time.Duration { return 0 }

// startTimeout limits how long a supervisor may take to start the test.
const startTimeout = 10 * time.Second

// A process is a running test below its supervisor.
type process struct {
	supervisor *exec.Cmd
	socket     *os.File // closed to end the test
	reports    *json.Decoder
	config     supervisorConfig
	started    started
	wasBig     bool // used too much memory at the last check
}

// start starts a test with a supervisor, in new namespaces if the system permits. On mips it does not try
// namespaces: mips has other numbers for the system calls of mountReadOnly and Supervise.
func start(test *exec.Cmd, folder string, l Limits) (*process, error) {
	if os.Args[0] == supervisorName {
		return nil, errors.New("the program that runs trials does not call trial.Supervise first")
	}
	var p *process
	err := errors.ErrUnsupported
	if !strings.HasPrefix(runtime.GOARCH, "mips") {
		p, err = supervise(test, supervisorConfig{folder, l.Memory, true, l.NoNet}, startTimeout)
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		p, err = supervise(test, supervisorConfig{Folder: folder, Memory: l.Memory}, startTimeout)
	}
	return p, err
}

// supervise starts another process of this program as the supervisor of a test. It fails if the
// supervisor does not answer within the timeout.
func supervise(test *exec.Cmd, o supervisorConfig, timeout time.Duration) (*process, error) {
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
		const netAdmin, sysAdmin = 12, 21
		attributes.AmbientCaps = []uintptr{netAdmin, sysAdmin}
	}
	p := &process{socket: socket, reports: json.NewDecoder(socket), config: o, supervisor: &exec.Cmd{
		Path: "/proc/self/exe", Args: append([]string{supervisorName}, test.Args...), Dir: test.Dir, Env: test.Env,
		Stdout: test.Stdout, Stderr: test.Stderr, ExtraFiles: []*os.File{other}, SysProcAttr: attributes,
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
func (p *process) kill() {
	if p.config.Isolated {
		p.supervisor.Process.Kill() // the kernel kills its whole PID namespace
		return
	}
	p.socket.Close()
}

// wait waits for the test and its children, and returns the exit status of the test.
func (p *process) wait() (status int, description string) {
	e := ended{-1, "its supervisor was killed"}
	p.reports.Decode(&e)
	p.supervisor.Wait()
	p.socket.Close()
	return e.Status, e.Description
}

// exceeds returns the limit that the test and its children exceed.
func (p *process) exceeds(l Limits) stopReason {
	processes := descendants(p.supervisor.Process.Pid)
	memory := int64(0)
	counted := map[uint64]bool{} // memfds by inode
	for _, pid := range processes {
		memory += resident(pid) + memfds(pid, counted)
	}
	wasBig := p.wasBig
	p.wasBig = memory > l.Memory
	switch {
	case len(processes) > maxProcesses:
		return tooManyProcesses
	case p.wasBig && (wasBig || len(processes) == 1): // between fork and exec, a process shares its parent's memory
		return tooMuchMemory
	}
	return notStopped
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

// memfds returns the memory of the open memfds of a process, without those that were already counted.
func memfds(pid int, counted map[uint64]bool) (size int64) {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	files, _ := os.ReadDir(dir)
	for _, file := range files {
		var stat syscall.Stat_t
		if target, _ := os.Readlink(dir + file.Name()); !strings.HasPrefix(target, "/memfd:") || syscall.Stat(dir+file.Name(), &stat) != nil || counted[stat.Ino] {
			continue
		}
		counted[stat.Ino] = true
		size += stat.Blocks * 512
	}
	return size
}

func (p *process) unenforced(l Limits) []string {
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
