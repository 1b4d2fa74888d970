package child

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Options are the choices for [Start]. The zero value is a good one.
type Options struct {
	Args []string
	Env  []string // beyond the environment of this process, as key=value
	Dir  string   // where it runs; "" is where this process does

	// Stderr is written what the program writes to its standard error, which is kept too. nil is nowhere.
	Stderr io.Writer

	// Patience is how long each step of ending it may take. 0 means two seconds.
	Patience time.Duration
}

// A Process is a program that runs.
type Process struct {
	In  io.WriteCloser // its standard input
	Out io.ReadCloser  // its standard output

	cmd      *exec.Cmd
	name     string
	patience time.Duration
	said     *tail
	ended    chan struct{}
	once     sync.Once
}

// Start starts a program, which is found as the shell would find it. The process runs until it ends or [Process.Close] ends it.
func Start(program string, o Options) (*Process, error) {
	p := &Process{name: program, patience: o.Patience, said: &tail{to: o.Stderr}, ended: make(chan struct{})}
	if p.patience <= 0 {
		p.patience = 2 * time.Second
	}
	p.cmd = exec.Command(program, o.Args...)
	p.cmd.Dir, p.cmd.Stderr = o.Dir, p.said
	if len(o.Env) > 0 {
		p.cmd.Env = append(os.Environ(), o.Env...)
	}
	p.cmd.WaitDelay = 500 * time.Millisecond // for what it has started and left behind with its standard error
	ownGroup(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	p.cmd.Stdout = theirs
	p.In, p.Out = in, out
	err = p.cmd.Start()
	theirs.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, startError(program, o.Dir, err)
	}
	go p.wait(out)
	return p, nil
}

// startError says what is to be done about a program that cannot be started.
func startError(program, dir string, err error) error {
	if dir != "" {
		if info, statErr := os.Stat(dir); statErr != nil || !info.IsDir() {
			return fmt.Errorf("starting %s: there is no folder %s", program, dir)
		}
	}
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("starting %s: there is no such program in PATH; install it, or write where it is", program)
	}
	return fmt.Errorf("starting %s: %w", program, strip(err))
}

// strip leaves out what os says of the path, which the error names already.
func strip(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// wait waits for the end of the process. What reads its output then has a moment to come to the end of it, which does not come by
// itself if something that it has started lives on.
func (p *Process) wait(out *os.File) {
	_ = p.cmd.Wait() // how it ended is in its state
	close(p.ended)
	time.AfterFunc(500*time.Millisecond, func() { out.Close() })
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Close ends the process and waits for that. It may be called again, by several goroutines.
func (p *Process) Close() error {
	p.once.Do(func() {
		p.In.Close()
		for _, push := range []func(*exec.Cmd){terminate, kill} {
			if p.endsWithin(p.patience) {
				return
			}
			push(p.cmd)
		}
		<-p.ended
	})
	<-p.ended
	p.Out.Close()
	return nil
}

// endsWithin reports whether the process ends in time.
func (p *Process) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
		return false
	}
}

// Ended is how the process ended, in words; "" while it runs.
func (p *Process) Ended() string {
	select {
	case <-p.ended:
		return p.cmd.ProcessState.String()
	default:
		return ""
	}
}

// PID is the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Said is the last of what the process has written to its standard error.
func (p *Process) Said() string {
	p.said.mu.Lock()
	defer p.said.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(p.said.text), "\ufffd"))
	if text != "" && p.said.cut {
		text = "… " + text
	}
	return text
}

// A tail keeps the last of what is written to it, and passes it on.
type tail struct {
	to io.Writer // may be nil

	mu   sync.Mutex
	text []byte
	cut  bool
}

// Write takes all, and keeps the last of it.
func (t *tail) Write(p []byte) (int, error) {
	const most = 8 << 10
	t.mu.Lock()
	t.text = append(t.text, p...)
	if over := len(t.text) - most; over > 0 {
		t.text, t.cut = append(t.text[:0], t.text[over:]...), true
	}
	t.mu.Unlock()
	if t.to != nil {
		_, _ = t.to.Write(p) // it is kept in any case
	}
	return len(p), nil
}
