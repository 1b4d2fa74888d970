package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
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

// idleSession is the server's timeout of idle sessions.
const idleSession = 20 * time.Second

// A server is the server under test.
type server struct {
	addr  string
	cmd   *exec.Cmd
	lines *bufio.Reader // of its standard output
	dir   string        // to be removed

	mu     sync.Mutex
	stderr bytes.Buffer
}

// start starts a server. If program is "", it builds it first.
func start(ctx context.Context, program string) (*server, error) {
	s := &server{}
	if program == "" {
		var err error
		if s.dir, err = os.MkdirTemp("", "petrock-soak"); err != nil {
			return nil, err
		}
		program = filepath.Join(s.dir, "ours")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "github.com/petrock/petrock/bench/servers/ours")
		if out, err := build.CombinedOutput(); err != nil {
			os.RemoveAll(s.dir)
			return nil, fmt.Errorf("build the server: %w; run soak in .bench\n%s", err, out)
		}
	}
	s.cmd = exec.Command(program, front.ServeArgument, "--soak", "--session-idle", idleSession.String(), "--client-share", "100")
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Stderr, s.lines = s, bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	if s.addr, err = s.after(front.ListeningPrefix); err != nil {
		s.cmd.Process.Kill()
		return nil, fmt.Errorf("wait for the server to listen: %w\n%s", err, s.stderrText())
	}
	return s, nil
}

// Write keeps the beginning of the server's standard error.
func (s *server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stderr.Len() < 16<<10 {
		s.stderr.Write(p)
	}
	return len(p), nil
}

func (s *server) stderrText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.String()
}

// after reads lines until one begins with prefix, and returns the rest of it.
func (s *server) after(prefix string) (string, error) {
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return "", err
		}
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			return rest, nil
		}
	}
}

// usage asks the server for its use of memory and goroutines.
func (s *server) usage() (front.Usage, error) {
	var h front.Usage
	if err := s.cmd.Process.Signal(front.UsageSignal); err != nil {
		return h, fmt.Errorf("ask the server: %w\n%s", err, s.stderrText())
	}
	late := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() }) // ends s.after
	defer late.Stop()
	text, err := s.after(front.UsagePrefix)
	if err != nil {
		return h, fmt.Errorf("ask the server: %w\n%s", err, s.stderrText())
	}
	return h, json.Unmarshal([]byte(text), &h)
}

// resident returns the resident memory of the server in bytes, or 0 if it is unknown.
func (s *server) resident() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
	value, _, _ := bytes.Cut(rest, []byte(" kB"))
	kb, _ := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
	return kb << 10
}

// stop stops the server with SIGTERM, and waits for it.
func (s *server) stop() error {
	defer os.RemoveAll(s.dir)
	s.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(20*time.Second, func() { s.cmd.Process.Kill() })
	defer timer.Stop()
	io.Copy(io.Discard, s.lines)
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("stop the server: %w\n%s", err, s.stderrText())
	}
	return nil
}
