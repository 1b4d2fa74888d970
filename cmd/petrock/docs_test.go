package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/cmd/petrock/internal/testenv"
	"github.com/petrock/petrock/core/mcphttp"
	"github.com/petrock/petrock/generators/docs"
)

// The console blocks of the documentation work. Their pages run in reading order, in one project
// hello, and each block in a shell of its own in the project's folder. .ci/run runs them, with
// -long.
//
// A line that starts with "$ " is a command, which must exit with 0; lines that start with ">"
// continue it. The lines below are its output, on standard output and standard error: "..." on
// a line of its own stands for any lines, and within a line for any text. If a command ends with &,
// the block continues after its output, and the process is killed at the end of the block.
// Servers listen on a free port instead of the default port.
func TestDocs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a Unix shell")
	}
	if !*long {
		t.Skip("needs -long; .ci/run runs it")
	}
	warm(t)
	parent := t.TempDir()
	project := filepath.Join(parent, "hello")
	shell(t, parent, "petrock new hello --no-git", "")
	bin := filepath.Join(parent, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	hello := fmt.Sprintf("#!/bin/sh\ngo build -C '%s' -o '%s/hello.bin' ./cmd/hello && exec '%[2]s/hello.bin' \"$@\"\n", project, bin)
	if err := os.WriteFile(filepath.Join(bin, "hello"), []byte(hello), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // which are below HOME
		t.Setenv(name, goEnv(t, name))
	}
	t.Setenv("HOME", parent)
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for _, page := range docs.Pages() {
		t.Run(page.Topic, func(t *testing.T) {
			for _, block := range blocks(page.Text, "console") {
				runConsole(t, project, parseConsole(onFreePort(t, block)))
			}
		})
	}
}

// An entry is a command in a console block, with the lines that it prints.
type entry struct{ command, output string }

func (e entry) isBackground() bool {
	return strings.HasSuffix(e.command, "&") && !strings.HasSuffix(e.command, "&&")
}

// lastLine returns the last line of the output that has no "...".
func (e entry) lastLine() string {
	lines := strings.Split(strings.TrimSpace(e.output), "\n")
	for _, line := range slices.Backward(lines) {
		if !strings.Contains(line, "...") {
			return line
		}
	}
	return ""
}

// matches reports whether text is the output.
func (e entry) matches(text string) bool {
	var pattern strings.Builder
	for line := range strings.Lines(e.output) {
		if line == "...\n" {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.*`))
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(text)
}

func parseConsole(block string) []entry {
	var entries []entry
	for line := range strings.Lines(block) {
		last := len(entries) - 1
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			entries = append(entries, entry{command: strings.TrimSuffix(command, "\n")})
		} else if more, ok := strings.CutPrefix(line, ">"); ok && last >= 0 {
			entries[last].command += "\n" + strings.TrimPrefix(strings.TrimSuffix(more, "\n"), " ")
		} else if last >= 0 {
			entries[last].output += line
		}
	}
	return entries
}

// onFreePort makes a block use a free port instead of the default port, which may be in use.
func onFreePort(t *testing.T, block string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	addr := listener.Addr().String()
	return strings.NewReplacer("$ hello serve", "$ hello serve --addr "+addr, mcphttp.DefaultAddr, addr).Replace(block)
}

// mark separates the output of commands.
const mark = "\x1e"

// progressLine matches the line of a command that takes long.
var progressLine = regexp.MustCompile(`(?m)^[a-z].* …\n`)

// runConsole runs the commands of a block in one shell, and compares their output.
func runConsole(t *testing.T, dir string, entries []entry) {
	t.Helper()
	script := "trap 'kill $pids 2>/dev/null; wait' EXIT\n"
	for i, e := range entries {
		script += "printf '" + mark + "'\n"
		if e.isBackground() {
			log := filepath.Join(t.TempDir(), fmt.Sprint(i))
			script += fmt.Sprintf("%s >%s 2>&1 &\npids=\"$pids $!\"\n", strings.TrimSuffix(e.command, "&"), log)
			if e.output != "" {
				line := strings.ReplaceAll(e.lastLine(), "'", `'\''`)
				script += fmt.Sprintf("until grep -qF -- '%s' %s; do kill -0 $! || break; sleep 0.1; done\ncat %[2]s\n", line, log)
			}
			continue
		}
		script += e.command + "\nexitCode=$?; [ $exitCode = 0 ] || echo \"exit code $exitCode\"\n"
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS="+testenv.GoFlags, "GOWORK=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v", err)
	}
	printed := strings.Split(string(out), mark)[1:]
	for i, e := range entries {
		if i >= len(printed) {
			t.Errorf("$ %s\nwas not run: the script has %d commands, the session printed %d results", e.command, i+1, len(printed))
		} else if !e.matches(progressLine.ReplaceAllString(printed[i], "")) {
			t.Errorf("$ %s\nprints\n%s\nwant\n%s", e.command, printed[i], e.output)
		}
	}
}
