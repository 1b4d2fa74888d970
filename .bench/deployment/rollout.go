package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// rollOut deploys a new field of posts/create in two steps, goes back, and deploys it again. It
// replaces one server after another, so that two builds run at a time. No server may become stale.
func (d *deployment) rollOut(ctx context.Context, errOut io.Writer) error {
	begin := time.Now()
	older, reading, writing := d.o.program, d.o.reading, d.o.writing
	say := func(format string, args ...any) {
		fmt.Fprintf(errOut, "%6.1f s  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
	for i, step := range []struct {
		program, does string
		writes        int // version of the events after the step
	}{
		{reading, "deploy the build that reads version 2", 1},
		{writing, "deploy the build that writes version 2", 2},
		{reading, "go back to the build that reads version 2", 1},
		{older, "go back to the oldest build", 1},
		{reading, "deploy the build that reads version 2 again", 1},
		{writing, "deploy the build that writes version 2 again", 2},
	} {
		if step.program == older {
			out, err := d.run(ctx, "log", "downgrade", createType, "--to", "1", "--reason", "go back")
			if err != nil {
				return fmt.Errorf("log downgrade: %w: %s", err, out)
			}
			say("log downgrade: %s", out)
		}
		say("%s", step.does)
		for n, s := range d.servers {
			s.program = step.program
			if err := d.replace(ctx, n, begin, errOut); err != nil {
				return err
			}
			for _, other := range d.servers {
				if err := other.checkFollows(); err != nil {
					return fmt.Errorf("step %d, %s: %w", i+1, step.does, err)
				}
			}
		}
		d.o.program = step.program // for commands
		if version, err := d.lastVersion(ctx); err != nil || version != step.writes {
			return fmt.Errorf("step %d, %s: got events of version %d, want %d: %w", i+1, step.does, version, step.writes, err)
		}
	}
	return nil
}

// checkFollows returns an error if a feature of the server is stale or stopped.
func (s *server) checkFollows() error {
	response, err := http.Get("http://" + s.addr + "/readyz?strict")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("server %s: %s %s", s.addr, response.Status, text)
	}
	return err
}

// lastVersion returns the version of the last create in the log.
func (d *deployment) lastVersion(ctx context.Context) (version int, err error) {
	out, err := d.run(ctx, "log", "--json")
	if err != nil {
		return 0, err
	}
	log, err := decodeLog(out)
	for _, e := range log {
		if e.Type == createType {
			version = e.Version
		}
	}
	return version, err
}
