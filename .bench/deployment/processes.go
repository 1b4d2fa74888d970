package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// maxServers is the number of servers in the configuration of HAProxy.
const maxServers = 4

// A deployment is a running HAProxy with its servers.
type deployment struct {
	o       options
	url     string // of HAProxy
	env     []string
	servers []*server
	proxy   *exec.Cmd
	dir     string // for temporary files

	database sync.Mutex // held while PostgreSQL restarts and while a server opens its log

	kills, restarts, stalls atomic.Int64
	restarted               int // by roll
}

// A server is a server process that is restarted after a crash.
type server struct {
	d       *deployment
	addr    string
	program string

	mu      sync.Mutex
	cmd     *exec.Cmd
	logged  *logReader
	stalled bool

	calls atomic.Int64 // calls in the log of all its processes
}

// freeAddrs returns addresses that nothing listens on.
func freeAddrs(n int) ([]string, error) {
	var addrs []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

// start starts the servers and HAProxy, and waits until all servers are ready.
func start(ctx context.Context, o options) (_ *deployment, err error) {
	dir, err := os.MkdirTemp("", "petrock-deployment")
	if err != nil {
		return nil, err
	}
	d := &deployment{o: o, dir: dir}
	defer func() {
		if err != nil {
			d.kill()
		}
	}()
	d.env = append(os.Environ(), "HELLO_DATA="+o.database, "HELLO_API_KEY="+apiKey, "HELLO_STATE_KEY="+apiKey)
	addrs, err := freeAddrs(maxServers + 1)
	if err != nil {
		return nil, err
	}
	d.url = "http://" + addrs[maxServers] + "/mcp"
	for _, addr := range addrs[:o.servers] {
		s := &server{d: d, addr: addr, program: o.program}
		if err := s.start(); err != nil {
			return nil, err
		}
		d.servers = append(d.servers, s)
	}
	if err := d.startProxy(addrs); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		up := 0
		for _, s := range d.servers {
			if s.isReady() {
				up++
			}
		}
		if up == o.servers {
			break
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%d of %d servers answer after 30 s:\n%s", up, o.servers, d.servers[0].logged.tail())
		}
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(3 * time.Second) // until the health checks of HAProxy have found the servers
	return d, ctx.Err()
}

var (
	serverAddr = regexp.MustCompile(`10\.0\.0\.1([1-4]):8181`)
	bindAddr   = regexp.MustCompile(`(?m)^(\s*bind) .*$`)
)

// startProxy starts HAProxy with its configuration, in which it replaces the addresses.
func (d *deployment) startProxy(addrs []string) error {
	text, err := os.ReadFile(d.o.proxy)
	if err != nil {
		return err
	}
	found := 0
	config := serverAddr.ReplaceAllStringFunc(string(text), func(addr string) string {
		found++
		return addrs[addr[len("10.0.0.1")]-'1']
	})
	if found != maxServers || !bindAddr.MatchString(config) {
		return fmt.Errorf("%s: want %d servers at 10.0.0.11:8181 to 10.0.0.14:8181, and a bind", d.o.proxy, maxServers)
	}
	config = bindAddr.ReplaceAllString(config, "${1} "+addrs[maxServers])
	file := filepath.Join(d.dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return err
	}
	d.proxy = exec.Command("haproxy", "-db", "-f", file)
	d.proxy.Stderr = os.Stderr
	d.proxy.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := d.proxy.Start(); err != nil {
		return fmt.Errorf("start HAProxy: %w; run apt-get install haproxy", err)
	}
	return nil
}

// start starts the process of a server.
func (s *server) start() error {
	cmd := exec.Command(s.program, "serve", "--addr", s.addr, "--behind-proxy", "--healthz", "--app-resources")
	cmd.Env, cmd.Dir = s.d.env, s.d.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	logged := &logReader{calls: &s.calls}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start server %s: %w", s.addr, err)
	}
	logged.group.Go(func() { logged.read(stderr) })
	s.mu.Lock()
	s.cmd, s.logged = cmd, logged
	s.mu.Unlock()
	return nil
}

// end sends a signal to a server, and waits until it has exited.
func (s *server) end(sig syscall.Signal) error {
	s.mu.Lock()
	cmd, logged := s.cmd, s.logged
	s.mu.Unlock()
	if err := cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("server %s has exited by itself: %w:\n%s", s.addr, err, logged.tail())
	}
	logged.group.Wait()
	if err := cmd.Wait(); err != nil && sig == syscall.SIGTERM {
		return fmt.Errorf("server %s: %w:\n%s", s.addr, err, logged.tail())
	}
	return nil
}

func (s *server) isReady() bool {
	c := http.Client{Timeout: time.Second}
	response, err := c.Get("http://" + s.addr + "/readyz")
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// A logReader reads the log of a server.
type logReader struct {
	group sync.WaitGroup
	calls *atomic.Int64
	mu    sync.Mutex
	last  []string // last lines that are not about calls
}

func (l *logReader) read(from io.Reader) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), " msg=call ") {
			l.calls.Add(1)
			continue
		}
		l.mu.Lock()
		l.last = append(l.last, lines.Text())
		l.last = l.last[max(0, len(l.last)-20):]
		l.mu.Unlock()
	}
	io.Copy(io.Discard, from) // after a line that is too long
}

func (l *logReader) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.last, "\n")
}

// breakThings kills and restarts servers until ctx ends. Meanwhile it restarts the database twice
// and, if the faults last a minute, suspends the server that runs the worker.
func (d *deployment) breakThings(ctx context.Context, errOut io.Writer) error {
	begin := time.Now()
	random := rand.New(rand.NewPCG(d.o.seed, 1))
	say := func(format string, args ...any) {
		fmt.Fprintf(errOut, "%6.1f s  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
	var group sync.WaitGroup
	defer group.Wait()
	errs := make(chan error, 100)
	at := func(share float64, f func() error) {
		group.Go(func() {
			if sleep(ctx, time.Duration(share*float64(d.o.time))) {
				if err := f(); err != nil {
					errs <- err
				}
			}
		})
	}
	restart := func(mode string) func() error {
		return func() error {
			d.database.Lock()
			defer d.database.Unlock()
			say("restart PostgreSQL, mode %s", mode)
			d.restarts.Add(1)
			if out, err := exec.Command(d.o.restart, mode).CombinedOutput(); err != nil {
				return fmt.Errorf("restart PostgreSQL: %w: %s", err, out)
			}
			say("PostgreSQL runs")
			return nil
		}
	}
	at(0.3, restart("fast"))
	at(0.7, restart("immediate"))
	if d.o.time >= time.Minute {
		at(0.4, func() error { return d.stallWorker(ctx, say) })
	}
	for sleep(ctx, d.o.kill/2+time.Duration(random.Float64()*float64(d.o.kill))) {
		i := random.IntN(len(d.servers))
		s := d.servers[i]
		if s.isStalled() {
			continue
		}
		say("kill -9 server %d", i+1)
		d.kills.Add(1)
		if err := s.end(syscall.SIGKILL); err != nil {
			return err
		}
		sleep(ctx, time.Duration(random.IntN(1000))*time.Millisecond)
		// A server exits if it cannot connect to the database at startup. Here is no supervisor
		// that would restart it.
		d.database.Lock()
		err := s.start()
		for err == nil && !s.isReady() && sleep(ctx, 20*time.Millisecond) {
		}
		d.database.Unlock()
		if err != nil {
			return err
		}
	}
	group.Wait()
	close(errs)
	var all error
	for err := range errs {
		all = errors.Join(all, err)
	}
	return all
}

// sleep reports whether the time has passed before ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (s *server) isStalled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stalled
}

// stallTime exceeds the lease of workers, which is 15 s.
const stallTime = 20 * time.Second

// stallWorker suspends the server that runs the worker until another server has taken over.
func (d *deployment) stallWorker(ctx context.Context, say func(string, ...any)) error {
	for sleep(ctx, time.Second) {
		w, err := d.worker(ctx)
		if err != nil {
			continue // the database may be away
		}
		for i, s := range d.servers {
			s.mu.Lock()
			pid := s.cmd.Process.Pid
			holds := strings.Contains(w.Process, fmt.Sprintf(":%d:", pid)) && s.cmd.Process.Signal(syscall.SIGSTOP) == nil
			s.stalled = holds
			s.mu.Unlock()
			if !holds {
				continue
			}
			say("suspend server %d, which runs the worker, for %v", i+1, stallTime)
			d.stalls.Add(1)
			sleep(ctx, stallTime)
			err := syscall.Kill(pid, syscall.SIGCONT)
			s.mu.Lock()
			s.stalled = false
			s.mu.Unlock()
			say("server %d continues", i+1)
			return err
		}
	}
	return nil
}

// kill ends all processes.
func (d *deployment) kill() {
	for _, s := range d.servers {
		s.cmd.Process.Kill()
		s.cmd.Wait()
	}
	d.stopProxy()
	os.RemoveAll(d.dir)
}

func (d *deployment) stopProxy() {
	if d.proxy != nil && d.proxy.Process != nil {
		d.proxy.Process.Kill()
		d.proxy.Wait()
	}
}
