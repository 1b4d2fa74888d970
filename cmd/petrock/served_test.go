package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// serve PROGRAM [ARG...] starts a project's server over HTTP on a free port, with the environment
// variables in $SERVE_ENV, and sets $URL. serve PETROCK dev starts petrock dev instead. ! serve
// stops it with SIGINT, and ! serve sigterm with SIGTERM; its exit code must be 0.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		running := ts.Value(servedKey{}).(*served)
		var sig os.Signal = os.Interrupt
		if slices.Equal(args, []string{"sigterm"}) {
			sig = syscall.SIGTERM
		}
		ts.Check(running.cmd.Process.Signal(sig))
		said, _ := io.ReadAll(running.errOut)
		ts.Logf("output:\n%s", said)
		ts.Check(running.cmd.Wait())
		return
	}
	if len(args) == 0 {
		ts.Fatalf("usage: serve program [arg...]")
	}
	flags := append([]string{"serve", "--addr", "127.0.0.1:0", "--drain", "0"}, args[1:]...)
	if len(args) > 1 && args[1] == "dev" {
		flags = append([]string{"dev", "--http", ":0"}, args[2:]...)
	}
	program := args[0]
	if strings.Contains(program, "/") {
		program = ts.MkAbs(program)
	}
	cmd := exec.Command(program, flags...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"))
	for _, name := range strings.Fields(ts.Getenv("SERVE_ENV")) {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	errOut, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	running := ts.Value(servedKey{}).(*served)
	running.cmd, running.errOut = cmd, bufio.NewReader(errOut)
	for {
		line, err := running.errOut.ReadString('\n')
		if _, address, ok := strings.Cut(strings.TrimSpace(line), ": serving "); ok {
			ts.Setenv("URL", address)
			return
		}
		if err != nil {
			ts.Fatalf("the server does not listen: %s", line)
		}
	}
}

// A served is a server that runs in parallel with a script.
type served struct {
	cmd    *exec.Cmd
	errOut *bufio.Reader
}

// servedKey is the key of a script's [*served].
type servedKey struct{}

// post STATUS URL FILE OUT [HEADER: VALUE...] posts a file, expects a status, and writes the
// response body to OUT.
func post(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: post status url file out [header: value...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	request, err := http.NewRequest(http.MethodPost, args[1], strings.NewReader(ts.ReadFile(args[2])))
	ts.Check(err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for _, header := range args[4:] {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	ts.Check(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), text, 0o644))
	if response.StatusCode != want {
		ts.Fatalf("%s is answered with %d, want %d: %s", args[1], response.StatusCode, want, text)
	}
}
