package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/petrock/petrock/core/client"
)

// measureLive measures a call through petrock dev and through a bare relay, and the time from saving a file to the first
// answer of the new server.
func measureLive(ctx context.Context, b *bench, round int, r results) error {
	p, err := b.hello(ctx)
	if err != nil {
		return err
	}
	launcher, direct := filepath.Join(b.dir, "launcher"), filepath.Join(b.dir, "direct")
	if p.live == nil {
		if err := command(ctx, p.dir, "go", "build", "-o", launcher, "./cmd/petrock"); err != nil {
			return err
		}
		if err := command(ctx, p.dir, "go", "build", "-buildvcs=false", "-ldflags=-w", "-o", direct, "./cmd/hello"); err != nil {
			return err
		}
		if p.live, err = client.Start(ctx, client.Command{Program: launcher, Args: []string{"dev"}, Dir: p.dir}, client.Options{}); err != nil {
			return err
		}
		if _, err := p.reload(ctx); err != nil { // a warm-up
			return err
		}
	}
	relay := b.named(0, "relay")[0]
	relay.args, relay.dir = []string{direct, "mcp"}, p.dir
	through := server{name: "ours", path: launcher, args: []string{"dev"}, dir: p.dir, builds: true}
	if err := measureSequential(ctx, b, []server{through, relay}, round, "through", r); err != nil {
		return err
	}
	took, err := p.reload(ctx)
	if err != nil {
		return err
	}
	r.add("reload", "ours", took.Seconds())
	if took, err = p.buildServer(ctx); err != nil {
		return err
	}
	r.add("reload", "gobuild", took.Seconds())
	return nil
}

// change makes add return another sum, and returns how much more than a + b it is.
func (p *project) change() (more int, err error) {
	more = int(time.Now().UnixNano() % 1e9)
	text := strings.Replace(string(p.tool), "in.A + in.B", fmt.Sprintf("in.A + in.B + %d", more), 1)
	if text == string(p.tool) {
		return 0, errors.New("tools/add.go does not add")
	}
	return more, os.WriteFile(filepath.Join(p.dir, "tools", "add.go"), []byte(text), 0o644)
}

// reload measures the time from saving a file to the first answer of the new server, and restores
// the file.
func (p *project) reload(ctx context.Context) (time.Duration, error) {
	more, err := p.change()
	if err != nil {
		return 0, err
	}
	took, err := p.awaitSum(ctx, more)
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(p.dir, "tools", "add.go"), p.tool, 0o644); err != nil {
		return 0, err
	}
	_, err = p.awaitSum(ctx, 0)
	return took, err
}

// awaitSum calls add through petrock dev until it returns a sum.
func (p *project) awaitSum(ctx context.Context, sum int) (time.Duration, error) {
	want := fmt.Sprintf(`{"sum":%d}`, sum)
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(5 * time.Millisecond) {
		result, err := p.live.CallTool(ctx, "add", map[string]any{"a": 0, "b": 0})
		if err != nil {
			return 0, err
		}
		if result.Text() == want {
			return time.Since(begun), nil
		}
	}
	return 0, errors.New("petrock dev does not reload")
}

// buildServer measures go build of the server after a change to one file, in a copy of the project
// that petrock dev does not watch.
func (p *project) buildServer(ctx context.Context) (time.Duration, error) {
	copied := p.dir + "-copy"
	if _, err := os.Stat(copied); err != nil {
		if err := os.CopyFS(copied, os.DirFS(p.dir)); err != nil {
			return 0, err
		}
	}
	other := &project{dir: copied, tool: p.tool}
	out := filepath.Join(copied, ".out", "server")
	if _, err := other.change(); err != nil {
		return 0, err
	}
	begun := time.Now()
	err := command(ctx, copied, "go", "build", "-buildvcs=false", "-ldflags=-w", "-o", out, "./cmd/hello")
	return time.Since(begun), err
}
