package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/petrock/petrock/bench/internal/front"
)

// A setting is a way to call.
type setting struct {
	name    string
	http    bool
	callers int
}

// run measures and reports, and returns how many targets were missed.
func run(ctx context.Context, o options, out io.Writer) (missed int, err error) {
	dir, err := os.MkdirTemp("", "clients")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "ours")
	if text, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "github.com/petrock/petrock/bench/servers/ours").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building the server: %w; is this run inside .bench?\n%s", err, text)
	}
	url, stop, err := serve(ctx, program)
	if err != nil {
		return 0, err
	}
	defer stop()
	for _, s := range []setting{
		{"over a process, one call at a time", false, 1},
		{fmt.Sprintf("over a process, %d callers", o.callers), false, o.callers},
		{"over HTTP, one call at a time", true, 1},
		{fmt.Sprintf("over HTTP, %d callers", o.callers), true, o.callers},
	} {
		figures, err := compare(ctx, o, s, program, url)
		if err != nil {
			return missed, fmt.Errorf("%s: %w", s.name, err)
		}
		missed += report(out, s, figures)
	}
	return missed, nil
}

// serve starts the server over HTTP.
func serve(ctx context.Context, program string) (url string, stop func(), err error) {
	cmd := exec.CommandContext(ctx, program, front.ServeArgument)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	said, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("waiting for the server to listen: %w", err)
	}
	return "http://" + strings.TrimPrefix(strings.TrimSpace(line), front.Listening) + front.Path, stop, nil
}

// compare takes the figures of all libraries in turn, beginning with another one in each round.
func compare(ctx context.Context, o options, s setting, program, url string) (map[string][]figure, error) {
	all := libraries()
	figures := map[string][]figure{}
	for range o.rounds {
		for _, lib := range all {
			f, err := turn(ctx, o, s, lib, program, url)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", lib.name, err)
			}
			figures[lib.name] = append(figures[lib.name], f)
		}
		all = append(slices.Clone(all[1:]), all[0])
	}
	return figures, nil
}

// turn is that of one library, with a client of its own.
func turn(ctx context.Context, o options, s setting, lib library, program, url string) (f figure, err error) {
	var c caller
	if s.http {
		c, err = lib.dial(ctx, url)
	} else {
		c, err = lib.start(ctx, program)
	}
	if err != nil {
		return f, err
	}
	if _, err = measure(ctx, c, s.callers, o.slice/8); err == nil { // warm
		f, err = measure(ctx, c, s.callers, o.slice)
	}
	return f, errors.Join(err, c.close())
}
