package servers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// openTerminal returns both ends of a terminal. It skips the test if the system has none.
func openTerminal(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { user.Close() })
	var number, unlock int32
	for request, value := range map[uintptr]*int32{syscall.TIOCGPTN: &number, syscall.TIOCSPTLCK: &unlock} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, user.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Skip(errno)
		}
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { program.Close() })
	return user, program
}

// doOnTerminal runs a command line on a terminal, types answers, and returns what the terminal
// shows.
func doOnTerminal(t *testing.T, dir, answers string, args ...string) (status int, shown string) {
	t.Helper()
	user, program := openTerminal(t)
	var seen bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() {
		buffer := make([]byte, 4096)
		for {
			n, err := user.Read(buffer)
			seen.Write(buffer[:n])
			if err != nil {
				return
			}
		}
	})
	if _, err := user.WriteString(answers); err != nil {
		t.Fatal(err)
	}
	env := mcpcli.Env{In: program, Out: program, Err: program, Dir: dir, Program: "prog", Info: mcp.Implementation{Name: "prog", Version: "1"}}
	root := &cobra.Command{Use: "prog", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(Commands(env)...)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	if err != nil {
		fmt.Fprintln(program, err)
	}
	program.Close()
	reading.Wait()
	return terminal.ExitCode(err), strings.ReplaceAll(seen.String(), "\r\n", "\n")
}

// On a terminal, petrock shows what it would start, and asks once for each definition.
func TestConsent(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("A_SECRET", "s3cret")
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	define := func(more string) {
		write(t, dir, ".mcp.json", `{"mcpServers": {"evil`+"\u202e"+`": {"command": "sh", "args": ["-c", "touch ran`+more+`"], "env": {"LD_X": "a.so\n", "KEY": "${A_SECRET}x"}}}}`)
	}
	define("")
	question := filepath.Join(dir, ".mcp.json") + ` defines the server evil\u202e, which you have not allowed yet:
  sh -c "touch ran"
  working directory: ` + dir + `
  environment variables:
    CLAUDE_PROJECT_DIR: ` + dir + `
    KEY: ${A_SECRET}x
    LD_X: "a.so\n"
Start it, now and in the future? Answer yes or no [no]: `
	for i, step := range []struct {
		answer, args string
		asks, runs   bool
	}{
		{"no\n", "tools", true, false},
		{"\n", "call x", true, false},
		{"what\n", "tools evil\u202e", true, false},
		{"no\n", "doctor", true, false},
		{"no\n", "tools --all", true, false},
		{"", "tools --yes", false, true},
		{"no\n", "tools", true, false}, // --yes is not remembered
		{"yes\n", "tools", true, true},
		{"", "tools", false, true},
		{"", "doctor", false, true},
	} {
		status, text := doOnTerminal(t, dir, step.answer, strings.Fields(step.args)...)
		_, err := os.Stat(ran)
		os.Remove(ran)
		if status == 0 || strings.Contains(text, question) != step.asks || (err == nil) != step.runs || strings.Contains(text, "s3cret") || !step.runs && !strings.Contains(text, "did not allow it") {
			t.Errorf("step %d, %s: exit code %d, it runs: %t, and it prints\n%s", i+1, step.args, status, err == nil, text)
		}
	}
	define(" more")
	if _, text := doOnTerminal(t, dir, "no\n", "tools"); !strings.Contains(text, `sh -c "touch ran more"`) || !strings.Contains(text, "which has changed since you allowed it:\n") {
		t.Errorf("after a change the command prints\n%s\nwant %q and %q in it", text, `sh -c "touch ran more"`, "which has changed since you allowed it:\n")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("after a change it runs unasked")
	}
	// An answer that another user could have written does not count.
	define("")
	if err := os.Chmod(filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "petrock", "allowed"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, text := doOnTerminal(t, dir, "no\n", "tools"); !strings.Contains(text, question) {
		t.Errorf("with answers that others can write: got %q, want it to contain %q", text, question)
	}
}

// Before petrock sends values of variables to a URL, it names them.
func TestConsentToSend(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("A_SECRET", "s3cret")
	dir := t.TempDir()
	for _, test := range []struct{ file, text, want string }{
		{".mcp.json", `{"mcpServers": {"p": {"type": "http", "url": "http://127.0.0.1:1/${A_SECRET}", "headers": {"X": "a ${B:-b}", "Y": "` + strings.Repeat("y", 500) + `${C:-}"}}}}`,
			"  http://127.0.0.1:1/${A_SECRET}\n  headers:\n    X: \"a ${B:-b}\"\n    Y: " + strings.Repeat("y", 400) + "… (506 bytes)\nSend it the values of the variables A_SECRET, B, C, now"},
		{"crush.json", `{"mcp": {"p": {"type": "http", "url": "http://127.0.0.1:1/", "headers": {"X": "$A_SECRET ${B:-${C-d}}"}}}}`, "variables A_SECRET, B, C, now"},
		{".cursor/mcp.json", `{"mcpServers": {"p": {"url": "http://127.0.0.1:1/${env:A_SECRET}/${userHome}"}}}`, "variables env:A_SECRET, userHome, now"},
	} {
		file := write(t, dir, test.file, test.text)
		if _, text := doOnTerminal(t, dir, "no\n", "tools", "--config", file); !strings.Contains(text, test.want) || strings.Contains(text, "s3cret") {
			t.Errorf("for %s the command prints\n%s\nwant %q in it, and no \"s3cret\"", test.file, text, test.want)
		}
	}
}

// The output of a server cannot change the state of the terminal, in text or in JSON.
func TestTerminalIsSafe(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".mcp.json", `{"mcpServers": {`+entry(t, "hostile", "hostile")+`}}`)
	for _, args := range []string{
		"tools", "tools --json", "tools --all", "tools --all --json", "call look --verbose", "call look --json", "call fail", "call fail --json",
		"call none", "call none --json", "resources", "resources --json", "read note://1", "read note://1 --json", "read none --json",
		"prompts", "prompts --json", "prompt greet", "prompt greet --json", "prompt none", "doctor", "doctor --json", "call ask --verbose",
	} {
		_, text := doOnTerminal(t, dir, "y\nx\n", append(strings.Fields(args), "--yes")...)
		text = strings.NewReplacer("\r\x1b[K", "", "\x1b[32m✓ \x1b[0m", "").Replace(text) // petrock's own
		if strings.ContainsAny(text, "\x1b\r\a\u202e\u009b\u200b") || !strings.Contains(text, `\u202e`) && !strings.Contains(args, "none") {
			t.Errorf("%s shows %q", args, text)
		}
	}
}
