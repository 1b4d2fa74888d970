package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/bench/internal/canned"
)

// TestMain runs the test binary as a server if BENCH_TEST_SERVER is set.
func TestMain(m *testing.M) {
	if kind := os.Getenv("BENCH_TEST_SERVER"); kind != "" {
		serveAs(kind)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serveAs runs a server with a fault that shows only when tools are called.
func serveAs(kind string) {
	few := &io.LimitedReader{R: os.Stdin, N: 5000}
	switch kind {
	case "right":
		canned.Serve(os.Stdin, os.Stdout)
	case "dies":
		canned.Serve(few, os.Stdout)
		if few.N == 0 {
			fmt.Fprintln(os.Stderr, "out of luck")
			os.Exit(3)
		}
	case "hangs":
		canned.Serve(few, os.Stdout)
		time.Sleep(time.Hour)
	case "stays":
		canned.Serve(os.Stdin, os.Stdout)
		time.Sleep(time.Hour)
	case "errs":
		canned.Serve(os.Stdin, changed{`"sum":5.5}}`, `"sum":5.6}}`})
	case "repeats":
		canned.Serve(os.Stdin, changed{`"id":10000009`, `"id":10000008`})
	}
}

// changed writes to standard output, and replaces old with new.
type changed struct{ old, new string }

func (c changed) Write(p []byte) (int, error) {
	_, err := os.Stdout.Write(bytes.ReplaceAll(p, []byte(c.old), []byte(c.new)))
	return len(p), err
}

// asServer returns a server of a kind.
func asServer(t *testing.T, kind string) server {
	t.Setenv("BENCH_TEST_SERVER", kind)
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return server{name: kind, path: path}
}

func TestMeasureLoad(t *testing.T) {
	for _, inFlight := range []int{1, 64} {
		l, err := measureLoad(t.Context(), asServer(t, "right"), 40*time.Millisecond, inFlight)
		if err != nil {
			t.Fatal(err)
		}
		if l.calls < inFlight || l.elapsed < 40*time.Millisecond {
			t.Errorf("with %d in flight: %+v", inFlight, l)
		}
	}
}

func TestFaults(t *testing.T) {
	for kind, want := range map[string][]string{
		"dies":    {"exited while calling add", "exit status 3", "out of luck"},
		"errs":    {"without the sum 5.5"},
		"repeats": {"a second response to 10000008"},
	} {
		_, err := measureLoad(t.Context(), asServer(t, kind), 40*time.Millisecond, 4)
		for _, part := range append(want, kind+": ") {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %v, want one with %q", kind, err, part)
			}
		}
	}
}

func TestHangs(t *testing.T) {
	c, err := connect(t.Context(), asServer(t, "hangs"), "testing", 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	g := &generator{conversation: c, calls: newCalls(4), inFlight: 4}
	if _, err = g.run(time.Minute); err == nil || !strings.Contains(err.Error(), "hangs: killed after 300ms without an answer (while testing)") {
		t.Errorf("error %v", err)
	}
}

func TestStays(t *testing.T) {
	c, err := connect(t.Context(), asServer(t, "stays"), "testing", 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.stop(); err == nil || !strings.Contains(err.Error(), "did not exit at the end of its input") {
		t.Errorf("error %v", err)
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := measureLoad(ctx, asServer(t, "right"), time.Minute, 4)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 5*time.Second {
		t.Errorf("error %v after %v", err, time.Since(begun))
	}
}
