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

// idleSession is after how long the server ends a session that its client has left without a word.
const idleSession = 20 * time.Second

// A server is the one under test.
type server struct {
	addr  string
	cmd   *exec.Cmd
	lines *bufio.Reader // of its standard output
	dir   string        // to be removed

	mu     sync.Mutex
	stderr bytes.Buffer
}

// start builds the server, unless it is given, and starts it.
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
			return nil, fmt.Errorf("building the server: %w; is this run inside .bench?\n%s", err, out)
		}
	}
	s.cmd = exec.Command(program, front.ServeArgument, "--soak", "--session-idle", idleSession.String(), "--client-share", "100")
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Stderr, s.lines = s, bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	if s.addr, err = s.after(front.Listening); err != nil {
		s.cmd.Process.Kill()
		return nil, fmt.Errorf("the server does not listen: %w\n%s", err, s.said())
	}
	return s, nil
}

// Write takes what the server writes to its standard error.
func (s *server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stderr.Len() < 16<<10 {
		s.stderr.Write(p)
	}
	return len(p), nil
}

func (s *server) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.String()
}

// after reads lines until one begins with a word, and returns what comes after it.
func (s *server) after(word string) (string, error) {
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return "", err
		}
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), word); ok {
			return rest, nil
		}
	}
}

// holding asks the server what it has in its hands.
func (s *server) holding() (front.Holding, error) {
	var h front.Holding
	if err := s.cmd.Process.Signal(front.Ask); err != nil {
		return h, fmt.Errorf("asking the server: %w\n%s", err, s.said())
	}
	late := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() }) // which ends what it says
	defer late.Stop()
	text, err := s.after(front.Holds)
	if err != nil {
		return h, fmt.Errorf("asking the server: %w\n%s", err, s.said())
	}
	return h, json.Unmarshal([]byte(text), &h)
}

// resident is the memory that the server has, in bytes, or 0 if that cannot be told.
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

// stop tells the server to end, and waits until it has.
func (s *server) stop() error {
	defer os.RemoveAll(s.dir)
	s.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(20*time.Second, func() { s.cmd.Process.Kill() })
	defer timer.Stop()
	io.Copy(io.Discard, s.lines)
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the server did not end well: %w\n%s", err, s.said())
	}
	return nil
}
