package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/petrock/petrock/bench/internal/front"
)

// API keys.
const (
	hostileKey = "hostile-0123456789abcdef"
	friendKey  = "friendly-0123456789abcdef"
)

// A server is the server under attack.
type server struct {
	addr string
	cmd  *exec.Cmd
	dir  string // to be removed

	mu      sync.Mutex
	lines   []string // the last lines of its standard error
	reports chan string
}

// start builds the server and starts it with a limit of 1,024 files.
func start(ctx context.Context) (*server, error) {
	dir, err := os.MkdirTemp("", "petrock-siege")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, reports: make(chan string, 1)}
	program := filepath.Join(dir, "besieged")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "github.com/petrock/petrock/bench/servers/besieged")
	if out, err := build.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("build the server: %w; run siege in .bench\n%s", err, out)
	}
	s.cmd = exec.Command("sh", "-c", `ulimit -n 1024 && exec "$0" serve --addr 127.0.0.1:0 --healthz --log-level warn --session-idle 20s`, program)
	s.cmd.Env = append(os.Environ(), "BESIEGED_API_KEY="+hostileKey+","+friendKey)
	errOut, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	ready := make(chan string, 1)
	go s.read(bufio.NewScanner(errOut), ready)
	select {
	case s.addr = <-ready:
		return s, nil
	case <-time.After(10 * time.Second):
		s.stop()
		return nil, fmt.Errorf("the server did not listen within 10s:\n%s", s.stderrText())
	}
}

func (s *server) read(lines *bufio.Scanner, ready chan<- string) {
	for lines.Scan() {
		line := lines.Text()
		if _, url, ok := strings.Cut(line, "serving http://"); ok {
			ready <- strings.TrimSuffix(url, "/mcp")
		}
		if text, ok := strings.CutPrefix(line, front.UsagePrefix); ok {
			s.reports <- text
		}
		s.mu.Lock()
		s.lines = append(s.lines[max(0, len(s.lines)-20):], line)
		s.mu.Unlock()
	}
}

func (s *server) stderrText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(20*time.Second, func() { s.cmd.Process.Kill() })
	defer late.Stop()
	_ = s.cmd.Wait()
	os.RemoveAll(s.dir)
}

// A usage is the server's use of resources.
type usage struct {
	front.Usage
	Files int
}

func (h usage) String() string {
	return fmt.Sprintf("%d goroutines, %d files, %.1f MB of heap", h.Goroutines, h.Files, float64(h.Heap)/(1<<20))
}

func (s *server) usage() (usage, error) {
	h := usage{Files: s.files()}
	if err := s.cmd.Process.Signal(front.UsageSignal); err != nil {
		return h, fmt.Errorf("ask the server: %w\n%s", err, s.stderrText())
	}
	select {
	case text := <-s.reports:
		return h, json.Unmarshal([]byte(text), &h.Usage)
	case <-time.After(time.Minute):
		return h, fmt.Errorf("the server did not report its resources within a minute:\n%s", s.stderrText())
	}
}

// waitRecovered waits until the server has released the resources of the attacks.
func (s *server) waitRecovered(ctx context.Context, before usage) (usage, error) {
	for end := time.Now().Add(recovery); ; {
		after, err := s.usage()
		if err != nil || ctx.Err() != nil {
			return after, err
		}
		if after.Goroutines <= before.Goroutines+5 && after.Files <= before.Files+5 && after.Heap <= before.Heap+8<<20 {
			return after, nil
		}
		if time.Now().After(end) {
			return after, fmt.Errorf("the server still uses more resources than before, %v after the attacks", recovery)
		}
		time.Sleep(time.Second)
	}
}

func (s *server) files() int {
	list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	return len(list)
}

// memory returns the resident memory of the server, in bytes.
func (s *server) memory() int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
	value, _, _ := bytes.Cut(rest, []byte(" kB"))
	kb, _ := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
	return kb << 10
}
