package gen

import "strings"

// File is the name of the file that a component is in, without a folder: send_mail.go. Kind is
// what the component is, such as tool. It goes behind names that would mean something else to Go,
// to petrock or to Windows: send_test is in send_test_tool.go. A kind that would mean something
// else itself is called component there. Different names are in different files.
func (n Name) File(kind string) string {
	if isSpecial("x_" + kind) {
		kind = "component"
	}
	// So that the files of send_test and of send_test_tool differ.
	bare := n.wire
	for ending := "_" + kind; strings.HasSuffix(bare, ending); {
		bare = strings.TrimSuffix(bare, ending)
	}
	if isSpecial(bare) {
		return n.wire + "_" + kind + ".go"
	}
	return n.wire + ".go"
}

// isSpecial reports whether a file NAME.go is more than a source file. Go leaves out files by
// the last word behind an underscore (goodOSArchFile in go/build), which is a system or a
// processor, those of tests apart; before the last, a word counts only together with it.
func isSpecial(name string) bool {
	underscore := strings.LastIndexByte(name, '_')
	if underscore < 0 {
		return isDevice(name)
	}
	last := name[underscore+1:]
	return last == "test" || last == "gen" || isSystem(last) || isProcessor(last)
}

// HasBuildSuffix reports whether, by its name, not every build takes a Go file: x_windows.go,
// x_arm64.go, x_test.go.
func HasBuildSuffix(file string) bool {
	name := strings.TrimSuffix(file, ".go")
	underscore := strings.LastIndexByte(name, '_')
	if underscore < 0 {
		return false
	}
	last := name[underscore+1:]
	return last == "test" || isSystem(last) || isProcessor(last)
}

// isSystem reports whether a word is a GOOS, past, present or future. "unix" is none here: it
// counts in build constraints alone.
func isSystem(word string) bool {
	switch word {
	case "aix", "android", "darwin", "dragonfly", "freebsd", "hurd", "illumos", "ios", "js", "linux",
		"nacl", "netbsd", "openbsd", "plan9", "solaris", "wasip1", "windows", "zos":
		return true
	}
	return false
}

// isProcessor reports whether a word is a GOARCH, past, present or future.
func isProcessor(word string) bool {
	switch word {
	case "386", "amd64", "amd64p32", "arm", "arm64", "arm64be", "armbe", "loong64", "mips", "mips64",
		"mips64le", "mips64p32", "mips64p32le", "mipsle", "ppc", "ppc64", "ppc64le", "riscv", "riscv64",
		"s390", "s390x", "sparc", "sparc64", "wasm":
		return true
	}
	return false
}

// isDevice reports whether Windows keeps a name for a device, whatever the ending. Go refuses
// modules with such files.
func isDevice(name string) bool {
	switch name {
	case "aux", "con", "nul", "prn":
		return true
	}
	port, numbered := strings.CutPrefix(name, "com")
	if !numbered {
		port, numbered = strings.CutPrefix(name, "lpt")
	}
	return numbered && len(port) == 1 && IsDigit(rune(port[0]))
}
