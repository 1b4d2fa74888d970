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
	orphaned      = 5 * time.Second       // after the limit, the test ends itself
	draining      = time.Second           // to read the rest of the output after the process has ended
	looking       = 10 * time.Millisecond // between checks of its memory and processes
	mostProcesses = 512
)

// What a system may be unable to enforce, as a report names it.
const (
	limitChildren   = "ending all child processes"
	limitMemory     = "the limits on memory and processes"
	limitWrites     = "no writes outside its folder"
	limitAttributes = "no changes of mode, owner and times outside its folder"
	limitNetwork    = "no network"
)

func (l laid) run(ctx context.Context, test string, limits Limits) (report *Report, err error) {
	outer, scratch, err := l.scratch()
	if err != nil {
		return nil, fmt.Errorf("making a folder to run %s in: %w", test, err)
	}
	defer func() { err = also(err, remove(outer)) }()

	reading, writing, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", test, err)
	}
	defer reading.Close()
	cmd := exec.Command(l.program(), "-test.run=^"+test+"$", "-test.v=test2json", "-test.paniconexit0", "-test.timeout="+ownTimeout(limits.Time).String())
	cmd.Dir, cmd.Env = scratch, environ(scratch, limits)
	cmd.Stdout, cmd.Stderr = writing, writing

	begin := time.Now()
	running, err := start(cmd, scratch, limits)
	writing.Close()
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("running %s: %w; set GOTMPDIR to a folder in which programs may run", test, err)
	case err != nil:
		return nil, fmt.Errorf("running %s: %w", test, err)
	}
	output := newOutput(limits.Output)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		io.Copy(output, reading)
	}()
	end := running.watch(ctx, output.loud, limits)
	report = &Report{Unenforced: running.unenforced(limits), Took: time.Since(begin)}
	select {
	case <-drained:
	case <-time.After(draining): // a detached child holds the pipe open
	}
	if end.stopped == cancelled {
		return nil, ctx.Err()
	}
	printed := output.end(test)
	printed.fill(report, end, limits)
	if len(printed.records) == 0 && report.Ended == "" {
		return nil, fmt.Errorf("there is no test %s in %s", test, l.pkg)
	}
	return report, nil
}

// scratch creates an empty folder, several levels below one that is removed afterwards, so that a few
// parents are removed too.
func (l laid) scratch() (outer, scratch string, err error) {
	outer, err = os.MkdirTemp(l.dir, "run-")
	if err == nil {
		scratch = filepath.Join(outer, filepath.FromSlash(strings.Repeat("x/", 6))) // paths of sockets must be short
		err = os.MkdirAll(scratch, 0o700)
	}
	return outer, scratch, err
}

// watch waits for the test to end, and kills it if it exceeds a limit.
func (p *process) watch(ctx context.Context, loud <-chan struct{}, l Limits) (e exit) {
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		e.status, e.words = p.wait()
	}()
	timer, look := time.NewTimer(l.Time), time.NewTicker(looking)
	defer timer.Stop()
	defer look.Stop()
	stopped := notStopped
	for running := true; running && stopped == notStopped; {
		select {
		case <-exited:
			running = false
		case <-timer.C:
			stopped = tooSlow
		case <-loud:
			stopped = tooLoud
		case <-ctx.Done():
			stopped = cancelled
		case <-look.C:
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

// also joins two errors. It returns the first as it is if the second is nil.
func also(err, second error) error {
	if second == nil {
		return err
	}
	return errors.Join(err, second)
}
