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

// Times that are not the user's.
const (
	orphaned = 5 * time.Second       // after the limit, a test ends itself, in case nobody does
	draining = time.Second           // for what was printed to be read when the process has ended
	looking  = 10 * time.Millisecond // between looks at the memory it uses
)

// run runs a test that was built.
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
	stopped := running.wait(ctx, output.loud, limits)
	report = &Report{Confined: running.confined, Took: time.Since(begin)}
	select {
	case <-drained:
	case <-time.After(draining): // a process that went its own way has the other end
	}
	if stopped == cancelled {
		return nil, ctx.Err()
	}
	printed := output.end(test)
	printed.fill(report, exit{stopped, cmd.ProcessState.ExitCode(), cmd.ProcessState.String()}, limits)
	if len(printed.records) == 0 && report.Ended == "" {
		return nil, fmt.Errorf("there is no test %s in %s", test, l.pkg)
	}
	return report, nil
}

// scratch makes an empty folder, so deep in another that is removed that a few steps up do not
// lead out of it.
func (l laid) scratch() (outer, scratch string, err error) {
	outer, err = os.MkdirTemp(l.dir, "run-")
	if err == nil {
		scratch = filepath.Join(outer, filepath.FromSlash(strings.Repeat("x/", 6))) // the path of a socket must be short
		err = os.MkdirAll(scratch, 0o700)
	}
	return outer, scratch, err
}
