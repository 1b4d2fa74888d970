package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/petrock/petrock/core/client"
)

// A project is a new petrock project with ten tools, its own petrock as a binary, and its running
// dev server.
type project struct {
	dir     string
	petrock string         // the full petrock
	dev     *client.Client // to its dev server
	live    *client.Client // to petrock dev; nil until it is measured
	names   int            // number of names in use
	tool    []byte         // tools/add.go
}

// hello returns the project, and creates it the first time.
func (b *bench) hello(ctx context.Context) (*project, error) {
	if b.project != nil {
		return b.project, nil
	}
	p := &project{dir: filepath.Join(b.dir, "hello"), petrock: filepath.Join(b.dir, "petrock")}
	if err := command(ctx, "..", "go", "run", "./cmd/petrock", "new", "hello", "--dir", p.dir, "--no-git", "--quiet"); err != nil {
		return nil, err
	}
	if err := command(ctx, p.dir, "go", "build", "-o", p.petrock, "./generators/petrock"); err != nil {
		return nil, err
	}
	for range 9 {
		if err := command(ctx, p.dir, p.petrock, p.generate()...); err != nil {
			return nil, err
		}
	}
	var err error
	if p.tool, err = os.ReadFile(filepath.Join(p.dir, "tools", "add.go")); err != nil {
		return nil, err
	}
	if p.dev, err = client.Start(ctx, client.Command{Program: p.petrock, Args: []string{"mcp"}, Dir: p.dir}, client.Options{}); err != nil {
		return nil, err
	}
	b.project = p
	// The first run of each is a warm-up.
	for _, first := range []func(context.Context) (time.Duration, error){p.warm, p.cold, p.build, p.tested, p.test} {
		if _, err := first(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// close stops the dev server of the project, if there is one.
func (p *project) close() error {
	if p == nil {
		return nil
	}
	err := p.dev.Close()
	if p.live != nil {
		err = errors.Join(err, p.live.Close())
	}
	return err
}

// fields are the input of the generated tools.
func fields() []string {
	return []string{"query:string:1..200", "limit:int?:1..100", "order:enum(newest,oldest,best)?"}
}

func (p *project) nextName() string {
	p.names++
	return fmt.Sprintf("look_up_%03d", p.names)
}

// generate returns the command line that generates the next tool.
func (p *project) generate() []string {
	return append([]string{"generate", "tool", p.nextName()}, fields()...)
}

// warm measures generate_tool in the running dev server.
func (p *project) warm(ctx context.Context) (time.Duration, error) {
	return p.generateWarm(ctx, map[string]any{"name": p.nextName(), "fields": fields()})
}

// tested measures generate_tool with a body and examples in the running dev server.
func (p *project) tested(ctx context.Context) (time.Duration, error) {
	p.names++
	return p.generateWarm(ctx, map[string]any{
		"name": fmt.Sprintf("double%d", p.names), "fields": []string{"n:int"}, "output": []string{"n:int"},
		"body":     fmt.Sprintf("return Double%dOutput{N: 2 * in.N}, nil", p.names),
		"examples": []any{map[string]any{"input": map[string]any{"n": 2}, "output": map[string]any{"n": 4}}},
	})
}

func (p *project) generateWarm(ctx context.Context, input map[string]any) (time.Duration, error) {
	begun := time.Now()
	input["description"] = "Searches."
	if err := p.call(ctx, "generate_tool", input); err != nil {
		return 0, err
	}
	took := time.Since(begun)
	return took, p.call(ctx, "undo", map[string]any{})
}

func (p *project) call(ctx context.Context, tool string, arguments any) error {
	result, err := p.dev.CallTool(ctx, tool, arguments)
	if err == nil && result.IsError {
		err = errors.New(result.Text())
	}
	return err
}

// cold measures petrock generate tool as a new process.
func (p *project) cold(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	if err := command(ctx, p.dir, p.petrock, p.generate()...); err != nil {
		return 0, err
	}
	took := time.Since(begun)
	return took, command(ctx, p.dir, p.petrock, "undo")
}

// build measures go build ./tools, and test go test ./tools, after a change to one file that is not
// in the build cache.
func (p *project) build(ctx context.Context) (time.Duration, error) { return p.goTools(ctx, "build") }
func (p *project) test(ctx context.Context) (time.Duration, error)  { return p.goTools(ctx, "test") }

func (p *project) goTools(ctx context.Context, verb string) (time.Duration, error) {
	file := filepath.Join(p.dir, "tools", "add.go")
	changed := fmt.Appendf(nil, "%s\nfunc touched() int { return %d }\n", p.tool, time.Now().UnixNano())
	if err := os.WriteFile(file, changed, 0o644); err != nil {
		return 0, err
	}
	begun := time.Now()
	err := command(ctx, p.dir, "go", verb, "./tools")
	took := time.Since(begun)
	return took, errors.Join(err, os.WriteFile(file, p.tool, 0o644))
}

// measureGenerate measures generating a tool, which verifies, writes and records it, go build and
// go test.
func measureGenerate(ctx context.Context, b *bench, _ int, r results) error {
	p, err := b.hello(ctx)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		names [][2]string
		do    func(context.Context) (time.Duration, error)
	}{
		{[][2]string{{"warm", "ours"}}, p.warm},
		{[][2]string{{"cold", "ours"}}, p.cold},
		{[][2]string{{"warm", "gobuild"}, {"cold", "gobuild"}}, p.build},
		{[][2]string{{"tested", "ours"}}, p.tested},
		{[][2]string{{"tested", "gotest"}}, p.test},
	} {
		took, err := f.do(ctx)
		if err != nil {
			return err
		}
		for _, name := range f.names {
			r.add(name[0], name[1], took.Seconds())
		}
	}
	return nil
}

// measureSize compares the server of a new project with one on the Go SDK, built with the same
// flags.
func measureSize(ctx context.Context, b *bench, round int, r results) error {
	if round > 0 {
		return nil
	}
	p, err := b.hello(ctx)
	if err != nil {
		return err
	}
	shipped := filepath.Join(b.dir, "shipped")
	if err := command(ctx, p.dir, "go", "build", "-trimpath", "-o", shipped, "./cmd/hello"); err != nil {
		return err
	}
	for name, file := range map[string]string{"ours": shipped, "gosdk": b.named(0, "gosdk")[0].path} {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		r.add("size", name, float64(info.Size()))
	}
	return nil
}
