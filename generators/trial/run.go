package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Limits and timeouts that are not configurable.
const (
	timeoutMargin = 5 * time.Second       // between the limit and the test's own timeout
	drainTimeout  = time.Second           // to read the rest of the output after the process has ended
	checkInterval = 10 * time.Millisecond // between checks of memory and processes
	maxProcesses  = 512
)

// Names, in a report, of limits that a system may be unable to enforce.
const (
	limitChildren   = "killing all child processes"
	limitMemory     = "limits on memory and processes"
	limitWrites     = "no writes outside the temporary folder"
	limitAttributes = "no changes of modes, owners or times outside the temporary folder"
	limitNetwork    = "no network"
)

func (b buildDir) run(ctx context.Context, test string, limits Limits) (report *Report, err error) {
	outer, scratch, err := b.scratch()
	if err != nil {
		return nil, fmt.Errorf("create a folder for %s: %w", test, err)
	}
	defer func() { err = joinErrors(err, remove(outer)) }()

	reading, writing, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", test, err)
	}
	defer reading.Close()
	cmd := exec.Command(b.program(), "-test.run=^"+test+"$", "-test.v=test2json", "-test.paniconexit0", "-test.timeout="+ownTimeout(limits.Time).String())
	cmd.Dir, cmd.Env = scratch, environ(scratch, limits)
	cmd.Stdout, cmd.Stderr = writing, writing

	startTime := time.Now()
	running, err := start(cmd, scratch, limits)
	writing.Close()
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("run %s: %w; set GOTMPDIR to a folder in which programs may run", test, err)
	case err != nil:
		return nil, fmt.Errorf("run %s: %w", test, err)
	}
	output := newOutput(limits.Output)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		io.Copy(output, reading)
	}()
	exit := running.watch(ctx, output.overflow, limits)
	report = &Report{Unenforced: running.unenforced(limits), Took: time.Since(startTime)}
	select {
	case <-drained:
	case <-time.After(drainTimeout): // a detached child holds the pipe open
	}
	if exit.stopped == cancelled {
		return nil, ctx.Err()
	}
	printed := output.end(test)
	printed.fill(report, exit, limits)
	if len(printed.records) == 0 && report.Ended == "" {
		return nil, fmt.Errorf("package %s has no test %s", b.pkg, test)
	}
	return report, nil
}

// scratch creates an empty folder for the test, and returns the outer folder to remove afterwards. It is
// several levels deep, so that files which the test writes to parent folders are removed too.
func (b buildDir) scratch() (outer, scratch string, err error) {
	outer, err = os.MkdirTemp(b.dir, "run-")
	if err == nil {
		scratch = filepath.Join(outer, filepath.FromSlash(strings.Repeat("x/", 6))) // short, as paths of sockets must be
		err = os.MkdirAll(scratch, 0o700)
	}
	return outer, scratch, err
}

// watch waits for the test to end, and kills it if it exceeds a limit.
func (p *process) watch(ctx context.Context, overflow <-chan struct{}, l Limits) (e exitState) {
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		e.status, e.description = p.wait()
	}()
	timer, ticker := time.NewTimer(l.Time), time.NewTicker(checkInterval)
	defer timer.Stop()
	defer ticker.Stop()
	stopped := notStopped
	for running := true; running && stopped == notStopped; {
		select {
		case <-exited:
			running = false
		case <-timer.C:
			stopped = timedOut
		case <-overflow:
			stopped = tooMuchOutput
		case <-ctx.Done():
			stopped = cancelled
		case <-ticker.C:
			stopped = p.exceeds(l)
		}
	}
	if stopped != notStopped {
		p.kill()
		<-exited
	}
	e.stopped = stopped
	return e
}

// joinErrors joins two errors. If the second is nil, it returns the first unwrapped.
func joinErrors(err, second error) error {
	if second == nil {
		return err
	}
	return errors.Join(err, second)
}
