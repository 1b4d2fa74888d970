package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/petrock/petrock/core/mcp/testdata/fixture"
)

const handshake = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// A process is a server in a separate process.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr *lockedBuffer
}

// buildPrograms starts to build the programs of testdata, once for all tests. It returns a function
// that waits for the build and returns its directory.
var buildPrograms = sync.OnceValue(func() func() (string, error) {
	dir, err := os.MkdirTemp("", "petrock-mcp")
	if err != nil {
		return func() (string, error) { return "", err }
	}
	built = dir
	var out bytes.Buffer
	cmd := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./testdata/noisy", "./testdata/late")
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Start()
	return sync.OnceValues(func() (string, error) {
		if err == nil {
			err = cmd.Wait()
		}
		if err != nil {
			err = fmt.Errorf("build the programs of testdata: %w\n%s", err, out.String())
		}
		return dir, err
	})
})

// built is the directory to remove after all tests, if any.
var built string

func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.run").Value.String() == "" {
		buildPrograms() // in parallel with the first tests
	}
	code := fixture.Run(m)
	if built != "" {
		_, _ = buildPrograms()() // the tests that need it have reported its error
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// command returns a program of testdata that is not started yet.
func command(t *testing.T, program string) *exec.Cmd {
	t.Helper()
	dir, err := buildPrograms()()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(filepath.Join(dir, program))
}

// start runs a program of testdata.
func start(t *testing.T, program string) *process {
	t.Helper()
	p := &process{t: t, cmd: command(t, program), stderr: &lockedBuffer{}}
	p.cmd.Stderr = p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill() })
	return p
}

func (p *process) send(lines string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, lines); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) call(id int, tool string) {
	p.t.Helper()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`+"\n", id, tool))
}

// next returns the next line, which must be a message, and its id.
func (p *process) next() (id, line string) {
	p.t.Helper()
	if !p.out.Scan() {
		p.t.Fatalf("standard output has ended: p.out.Scan() = false, want true (p.out.Err(): %v) (p.stderr: %+v)", p.out.Err(), p.stderr)
	}
	var m struct {
		JSONRPC string
		ID      json.RawMessage
	}
	if err := json.Unmarshal(p.out.Bytes(), &m); err != nil || m.JSONRPC != "2.0" {
		p.t.Fatalf(`this is no message: %q; want no error and m.JSONRPC == "2.0"`, p.out.Text())
	}
	return string(m.ID), p.out.Text()
}

// wait waits for the process to exit with code 0, and returns its remaining output.
func (p *process) wait(within time.Duration) []string {
	p.t.Helper()
	began := time.Now()
	var rest []string
	for p.out.Scan() {
		rest = append(rest, p.out.Text())
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the process ended with %v\nstandard error:\n%s", err, p.stderr)
	}
	if took := time.Since(began); took > within {
		p.t.Errorf("the process took: time.Since(began) = %v, want at most %v", took, within)
	}
	return rest
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Output that a program prints from main, from a goroutine, from a tool, through the descriptor and
// from a child process does not reach the client, once main has taken standard output.
func TestStrayPrints(t *testing.T) {
	t.Parallel()
	p := start(t, "noisy")
	p.send(handshake)
	if id, line := p.next(); id != `"init"` {
		t.Fatalf(`the first line is %s, want the id "init"`, line)
	}
	for i := range 100 {
		p.call(i, "talk")
		id, line := p.next()
		if id != fmt.Sprint(i) || !strings.Contains(line, "talked, read 0 bytes, \\u003cnil\\u003e") && !strings.Contains(line, "talked, read 0 bytes, <nil>") {
			t.Fatalf("call %d is answered by %s", i, line)
		}
	}
	p.in.Close()
	if rest := p.wait(10 * time.Second); len(rest) != 0 {
		t.Errorf("after the end, the server sends %q, want nothing", rest)
	}
	for _, want := range []string{
		"a line from the start", "half a line from the start", "a goroutine and its copy of os.Stdout", "a line from main",
		"a lie", "half a line", "through package log", "through the descriptor", "from a child process",
	} {
		if !strings.Contains(p.stderr.String(), want) && !(runtime.GOOS == "windows" && want == "from a child process") {
			t.Errorf("standard error is\n%s\nwant it to contain %q", p.stderr.String(), want)
		}
	}
}

// Unless main takes standard output, output before ServeStdio reaches the client as separate lines.
// Later output does not.
func TestPrintsBeforeServing(t *testing.T) {
	t.Parallel()
	p := start(t, "late")
	if !p.out.Scan() || p.out.Text() != "late: a line from main" {
		t.Fatalf(`the first line is %q (%v), want "late: a line from main"`, p.out.Text(), p.out.Err())
	}
	p.send(handshake)
	p.next()
	for i := range 10 {
		p.call(i, "talk")
		if id, line := p.next(); id != fmt.Sprint(i) {
			t.Fatalf("the answer has the id %s, want %d: %s", id, i, line)
		}
	}
	p.in.Close()
	p.wait(10 * time.Second)
}

// The process exits cleanly in each of these ways. Calls in flight are answered if they end within
// the grace period, which is 600 ms.
func TestEndOfProcess(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*process){
		"EOF": func(p *process) { p.in.Close() },
	}
	if runtime.GOOS != "windows" {
		ends["SIGTERM"] = func(p *process) { p.cmd.Process.Signal(syscall.SIGTERM) }
		ends["SIGINT"] = func(p *process) { p.cmd.Process.Signal(syscall.SIGINT) }
		ends["EOF, then SIGTERM"] = func(p *process) {
			p.in.Close()
			time.AfterFunc(300*time.Millisecond, func() { p.cmd.Process.Signal(syscall.SIGTERM) })
		}
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "noisy")
			p.send(handshake)
			p.next()
			p.call(1, "nap")
			p.call(2, "sleep")
			p.call(3, "stubborn")
			p.send(`{"jsonrpc":"2.0","id":4,"method":"ping"}` + "\n")
			if id, line := p.next(); id != "4" {
				t.Fatalf("the ping is answered by %s, want the id 4", line)
			}
			end(p)
			said := strings.Join(p.wait(15*time.Second), "\n")
			if !strings.Contains(said, "rested") || !strings.Contains(said, "woken") {
				t.Errorf("at the end, the server wrote\n%s\nwant \"rested\" and \"woken\" in it", said)
			}
			if !strings.Contains(p.stderr.String(), "still running") {
				t.Errorf(`standard error is %q, want it to contain "still running"`, p.stderr.String())
			}
		})
	}
}

// A second signal ends the process immediately.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("windows has no such signals")
	}
	p := start(t, "noisy")
	p.send(handshake)
	p.next()
	p.call(1, "stubborn")
	p.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n")
	p.next()
	ended := make(chan struct{})
	go func() {
		// Two signals in quick succession may arrive as one.
		for tick := time.Tick(50 * time.Millisecond); ; {
			select {
			case <-tick:
				p.cmd.Process.Signal(syscall.SIGTERM)
			case <-ended:
				return
			}
		}
	}()
	for p.out.Scan() {
	}
	close(ended)
	var exit *exec.ExitError
	if err := p.cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the process ended with %v, want the signal %v", err, syscall.SIGTERM)
	}
}

// If the client closes all pipes, including standard error, the process exits without being killed
// by a signal.
func TestClientVanishes(t *testing.T) {
	t.Parallel()
	cmd := command(t, "noisy")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, handshake)
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("the server sends no answer to initialize, want one")
	}
	out.Close()
	stderr.Close()
	io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"talk"}}`+"\n")
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && (!errors.As(err, &exit) || !exit.Exited()) {
		t.Errorf("the process ended with %v, want it to exit by itself", err)
	}
}
