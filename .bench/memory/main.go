// Memory serves a large feature from little memory: it restores a backup of many items, and starts
// the server without snapshots, with one to take, and with one to load. Each time it calls the
// server, stops it, and compares its peak resident memory and its start with the bounds.
//
// .ci/memory builds the project, starts PostgreSQL, and runs it:
//
//	.ci/memory -items 100000 -limit 160
//
// It requires Linux. Where it may create a memory cgroup, the processes run in one.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/mcp"
)

const (
	callers = 16   // clients at the same time
	calls   = 500  // of each
	slack   = 64   // MiB that a snapshot may need on top of a replay
	slower  = 1.1  // time of a start with a snapshot ÷ time of a start without
	noise   = 1.10 // tolerance of times, and of peaks of a start

	shortest = 200 * time.Millisecond // a difference below is not significant
)

// An options holds the values of the flags.
type options struct {
	program string
	items   int64
	limit   int // MiB
	rounds  int
}

func main() {
	var o options
	flag.StringVar(&o.program, "program", "", "server of the project (required)")
	flag.Int64Var(&o.items, "items", 1_000_000, "number of items")
	flag.IntVar(&o.limit, "limit", 768, "memory limit of each process, in MiB")
	flag.IntVar(&o.rounds, "rounds", 3, "number of starts with and without a snapshot; the fastest counts")
	flag.Parse()
	if o.program == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "memory: -program is required; run .ci/memory, which sets it")
		os.Exit(2)
	}
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "memory:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "petrock-memory")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	group, err := newCgroup(o.limit)
	if err != nil {
		fmt.Fprintf(os.Stderr, "memory: no cgroup, so the peak of each process decides: %v\n", err)
	} else {
		defer group.remove()
	}
	backup := filepath.Join(dir, "backup.jsonl.gz")
	if err := writeBackup(backup, o.items); err != nil {
		return err
	}
	stores := []string{filepath.Join(dir, "data")}
	if url := os.Getenv("PETROCK_POSTGRES"); url != "" {
		stores = append(stores, url)
	}
	var errs []error
	for _, data := range stores {
		name, _, _ := strings.Cut(data, "://")
		if name == data {
			name = "sqlite"
		}
		t := &trial{o: o, group: group, dir: dir, data: data, backup: backup}
		if err := t.run(ctx, name); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// A trial runs the program with one store.
type trial struct {
	o      options
	group  *cgroup // nil if there is none
	dir    string
	data   string // folder or URL
	backup string
}

// A result holds the time and the memory that one process needed.
type result struct {
	start time.Duration // until it was ready
	ready int           // peak of the resident memory until then, in MiB
	peak  int           // peak of the resident memory, in MiB
}

func (t *trial) run(ctx context.Context, name string) error {
	report := func(what string, r result) {
		fmt.Printf("%-8s  %-34s %8.2f s %5d MiB %5d MiB\n", name, what, r.start.Seconds(), r.ready, r.peak)
	}
	restored, err := t.restore()
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	report("restore", restored)
	type start struct {
		what, snapshot string
		result         *result
	}
	var replay, take, load result
	off := start{"serve without snapshots", "off", &replay}
	starts := []start{off, {"serve and take a snapshot", "auto", &take}}
	for range t.o.rounds {
		starts = append(starts, start{"serve from a snapshot", "auto", &load}, off)
	}
	for _, s := range starts {
		again, err := t.serve(ctx, s.snapshot)
		if err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		report(s.what, again)
		*s.result = again.orBetter(*s.result)
	}
	var errs []error
	if take.ready > replay.ready+slack {
		errs = append(errs, fmt.Errorf("to take a snapshot, a start needs %d MiB, and %d MiB without; want at most %d MiB more", take.ready, replay.ready, slack))
	}
	if float64(load.ready) > float64(replay.ready)*noise {
		errs = append(errs, fmt.Errorf("a start from a snapshot needs %d MiB, and %d MiB without", load.ready, replay.ready))
	}
	if most := time.Duration(float64(replay.start)*slower*noise) + shortest; load.start > most {
		errs = append(errs, fmt.Errorf("a start with a snapshot takes %v, without %v", load.start, replay.start))
	}
	for _, r := range []result{restored, replay, take, load} {
		if r.peak > t.o.limit {
			errs = append(errs, fmt.Errorf("peak of %d MiB, above the limit of %d MiB", r.peak, t.o.limit))
		}
	}
	return errors.Join(errs...)
}

// orBetter returns the shorter start and the higher peaks of two results. other may be zero.
func (r result) orBetter(other result) result {
	return result{min(r.start, cmp.Or(other.start, r.start)), max(r.ready, other.ready), max(r.peak, other.peak)}
}

func (t *trial) restore() (result, error) {
	begin := time.Now()
	cmd := t.command("restore", t.backup)
	out, err := cmd.CombinedOutput()
	return result{time.Since(begin), peak(cmd), peak(cmd)}, describe(cmd, string(out), err)
}

// serve starts the server, calls it, and stops it.
func (t *trial) serve(ctx context.Context, snapshot string) (result, error) {
	addr, err := freeAddr()
	if err != nil {
		return result{}, err
	}
	cmd := t.command("serve", "--addr", addr, "--healthz", "--log-level", "warn", "--snapshot", snapshot)
	var log strings.Builder
	cmd.Stderr = &log
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	for !isReady(addr) {
		select {
		case err := <-exited:
			return result{}, describe(cmd, log.String(), cmp.Or(err, errors.New("exited")))
		case <-time.After(10 * time.Millisecond):
		}
	}
	r := result{start: time.Since(begin), ready: peakSoFar(cmd.Process.Pid)}
	callErr := t.call(ctx, "http://"+addr+"/mcp")
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have exited already
	err = <-exited
	r.peak = peak(cmd)
	return r, errors.Join(describe(cmd, log.String(), err), callErr)
}

// command returns a command of the program, which runs in the cgroup.
func (t *trial) command(args ...string) *exec.Cmd {
	cmd := exec.Command(t.o.program, args...)
	if t.group != nil {
		cmd = exec.Command("sh", append([]string{"-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(t.group.dir, "cgroup.procs"), t.o.program}, args...)...)
	}
	cmd.Dir, cmd.Env = t.dir, append(os.Environ(), "HELLO_DATA="+t.data)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// describe adds the output of a command to its error.
func describe(cmd *exec.Cmd, out string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w, peak %d MiB:\n%s", err, peak(cmd), out[max(0, len(out)-2000):])
}

// peak returns the peak of the resident memory of a process that has exited, in MiB.
func peak(cmd *exec.Cmd) int {
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return int(usage.Maxrss >> 10)
}

// peakSoFar returns the peak of the resident memory of a process, in MiB.
func peakSoFar(pid int) (peak int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // the process may have exited
	if _, after, ok := strings.Cut(string(status), "VmHWM:"); ok {
		fmt.Sscan(after, &peak)
	}
	return peak >> 10
}

// call lets clients create, list and read items.
func (t *trial) call(ctx context.Context, url string) error {
	var group sync.WaitGroup
	errs := make([]error, callers)
	for i := range callers {
		group.Go(func() { errs[i] = callAs(ctx, url, i) })
	}
	group.Wait()
	return errors.Join(errs...)
}

func callAs(ctx context.Context, url string, caller int) error {
	c, err := clienthttp.Dial(ctx, clienthttp.Server{URL: url}, client.Options{Info: mcp.Implementation{Name: "memory", Version: "1"}})
	if err != nil {
		return err
	}
	for i := range calls {
		tool, arguments := "items_list", map[string]any{"limit": 100, "after": i * 997}
		if i%10 == 0 {
			tool, arguments = "items_create", map[string]any{"title": fmt.Sprint("new item ", caller, i), "count": i}
		}
		result, err := c.CallTool(ctx, tool, arguments)
		if err == nil && result.IsError {
			err = errors.New(result.Text())
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", tool, err), c.Close())
		}
	}
	return c.Close()
}

func isReady(addr string) bool {
	response, err := http.Get("http://" + addr + "/readyz")
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, response.Body)
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// A cgroup limits the memory of the processes in it.
type cgroup struct{ dir string }

// newCgroup returns a cgroup of either version with a limit in MiB.
func newCgroup(limit int) (*cgroup, error) {
	bytes := strconv.Itoa(limit << 20)
	var errs []error
	for _, version := range []struct{ root, file string }{
		{"/sys/fs/cgroup", "memory.max"},
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
	} {
		dir, err := os.MkdirTemp(version.root, "petrock-memory")
		if err == nil {
			if err = os.WriteFile(filepath.Join(dir, version.file), []byte(bytes), 0); err == nil {
				return &cgroup{dir}, nil
			}
			_ = os.Remove(dir)
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (g *cgroup) remove() { _ = os.Remove(g.dir) }
