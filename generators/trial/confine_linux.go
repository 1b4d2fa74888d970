package trial

import (
	"runtime"
	"syscall"
	"unsafe"
)

// Constants of Landlock; see landlock(7). The system calls have these numbers on all architectures
// except mips, where these numbers are unused.
const (
	landlockCreateRuleset = 444
	landlockAddRule       = 445
	landlockRestrictSelf  = 446

	writeFile   = 1 << 1
	removeAndMk = 0x1ff << 4 // all rights from removing a folder to creating a symbolic link
	refer       = 1 << 13    // to move or link into another folder; from version 2 on
	truncate    = 1 << 14    // from version 3 on

	scopeSignal = 1 << 1 // signals to processes outside; from version 6 on
)

// landlockVersion returns the version of Landlock that the kernel supports; 0 if none.
func landlockVersion() int {
	const version = 1
	n, _, errno := syscall.RawSyscall(landlockCreateRuleset, 0, 0, version)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// confine prevents this thread and the processes that it starts from writing outside a folder, and
// from sending signals to other processes. It returns the version of Landlock, 0 if none. Before version
// 3 files can be truncated, before version 6 signals can be sent. Modes, owners and times of files can
// always be changed.
//
// The restriction cannot be lifted: the thread must be locked, and must end afterwards.
func confine(folder string) int {
	version := landlockVersion()
	if version == 0 {
		return 0
	}
	rules := struct{ files, net, scoped uint64 }{files: writeFile | removeAndMk}
	if version >= 2 {
		rules.files |= refer
	}
	if version >= 3 {
		rules.files |= truncate
	}
	if version >= 6 {
		rules.scoped = scopeSignal
	}
	fd, _, errno := syscall.RawSyscall(landlockCreateRuleset, uintptr(unsafe.Pointer(&rules)), unsafe.Sizeof(rules), 0)
	if errno != 0 {
		return 0
	}
	ruleset := int(fd)
	defer syscall.Close(ruleset)
	if !allow(ruleset, folder, rules.files) {
		return 0
	}
	for _, device := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} {
		allow(ruleset, device, rules.files&(writeFile|truncate))
	}
	if prctl(setNoNewPrivs, 1) != nil {
		return 0
	}
	_, _, errno = syscall.RawSyscall(landlockRestrictSelf, fd, 0, 0)
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
	const below = 1
	rule := struct {
		access uint64
		file   int32
	}{access, int32(file)}
	_, _, errno := syscall.RawSyscall6(landlockAddRule, uintptr(ruleset), below, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	runtime.KeepAlive(&rule)
	return errno == 0
}
