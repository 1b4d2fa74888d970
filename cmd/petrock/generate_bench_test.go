package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

// sizes are how many tools the projects have that are measured.
var sizes = []int{10, 500}

// BenchmarkGenerate reports what generating a tool takes in a process that is running, all of it
// verified, in projects with 10 and with 500 tools, beside one go build ./tools after one of its
// files has changed. The figures are medians.
func BenchmarkGenerate(b *testing.B) {
	figures := figures{}
	var projects []*benchProject
	var engines []*engine.Engine
	for _, size := range sizes {
		p := newBenchProject(b, size)
		e, err := engine.Open(p.dir, generators.All())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { e.Close() })
		projects, engines = append(projects, p), append(engines, e)
	}
	once := func() {
		for i, p := range projects {
			input, err := json.Marshal(p.next())
			if err != nil {
				b.Fatal(err)
			}
			took := timed(b, func() error {
				_, err := engines[i].Generate(context.Background(), "tool", input, engine.Options{})
				return err
			})
			if _, err := engines[i].Undo(context.Background(), "", engine.Options{}); err != nil {
				b.Fatal(err)
			}
			built := p.touchAnd("build")
			figures.add(b, fmt.Sprintf("warm%d-ms", p.size), took)
			figures.add(b, fmt.Sprintf("build%d-ms", p.size), built)
			figures.add(b, fmt.Sprintf("warm/build%d", p.size), took/built)
		}
	}
	once()
	clear(figures)
	for b.Loop() {
		once()
	}
	figures.report(b)
	b.ReportMetric(median(figures["warm500-ms"])-median(figures["warm10-ms"]), "warm500-warm10-ms")
}

// BenchmarkGenerateCold reports how long petrock generate tool takes as a process of its own,
// after an earlier one (cold) and with nothing kept of earlier ones (bare), beside one go build
// ./tools after one of its files has changed. The figures are medians.
func BenchmarkGenerateCold(b *testing.B) {
	figures := figures{}
	var projects []*benchProject
	for _, size := range sizes {
		projects = append(projects, newBenchProject(b, size))
	}
	once := func() {
		for _, p := range projects {
			generate := func() float64 {
				in := p.next()
				took := timed(b, func() error { return p.petrock(append([]string{"generate", "tool", in.Name}, in.Fields...)...) })
				if err := p.petrock("undo"); err != nil {
					b.Fatal(err)
				}
				return took
			}
			cold := generate()
			p.remove(".petrock/cache")
			bare := generate()
			built := p.touchAnd("build")
			figures.add(b, fmt.Sprintf("cold%d-ms", p.size), cold)
			figures.add(b, fmt.Sprintf("bare%d-ms", p.size), bare)
			figures.add(b, fmt.Sprintf("build%d-ms", p.size), built)
			figures.add(b, fmt.Sprintf("cold/build%d", p.size), cold/built)
		}
	}
	once()
	clear(figures)
	for b.Loop() {
		once()
	}
	figures.report(b)
}

// BenchmarkGenerateFinished reports what the tool generate_tool takes with a body and two examples, all of it
// verified, built and run before it is written, in a running dev server, next to one go test ./tools after one of
// its files has changed. The figures are medians.
func BenchmarkGenerateFinished(b *testing.B) {
	figures := figures{}
	var projects []*benchProject
	var clients []*mcptest.Client
	for _, size := range sizes {
		p := newBenchProject(b, size)
		tools, err := devserver.New(devserver.Options{Dir: p.dir, Generators: generators.All(), IsProjects: true})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { tools.Close() })
		server, err := tools.NewServer()
		if err != nil {
			b.Fatal(err)
		}
		projects, clients = append(projects, p), append(clients, mcptest.Connect(b, server))
	}
	once := func() {
		for i, p := range projects {
			in := p.next()
			output := fmt.Sprintf("LookUp%03dOutput", p.names)
			in.Body = fmt.Sprintf("if in.Query == \"?\" {\n\treturn %s{}, errors.New(\"not found at %d\")\n}\nreturn %s{Result: strings.ToUpper(in.Query)}, nil", output, time.Now().UnixNano(), output) // no cache has it
			in.Examples = []generators.Example{
				{Input: map[string]json.RawMessage{"query": json.RawMessage(`"a"`)}, Output: json.RawMessage(`{"result":"A"}`)},
				{Input: map[string]json.RawMessage{"query": json.RawMessage(`"?"`)}, Error: "not found"},
			}
			took := timed(b, func() error { return says(clients[i].CallTool("generate_tool", in)) })
			if err := says(clients[i].CallTool("undo", map[string]any{})); err != nil {
				b.Fatal(err)
			}
			tested := p.touchAnd("test")
			figures.add(b, fmt.Sprintf("finished%d-ms", p.size), took)
			figures.add(b, fmt.Sprintf("test%d-ms", p.size), tested)
			figures.add(b, fmt.Sprintf("finished/test%d", p.size), took/tested)
		}
	}
	once()
	clear(figures)
	for b.Loop() {
		once()
	}
	figures.report(b)
}

// says is the error that a result is, nil if it is none.
func says(r *mcp.ToolResult) error {
	if r.IsError {
		return errors.New(r.Text())
	}
	return nil
}

// BenchmarkSync reports what sync takes in a project with 500 tools as a process of its own,
// with nothing kept of earlier ones and nothing derived, beside one go vet ./tools after one of
// its files has changed. The figures are medians.
func BenchmarkSync(b *testing.B) {
	figures := figures{}
	p := newBenchProject(b, sizes[len(sizes)-1])
	once := func() {
		p.remove(".petrock/cache")
		p.remove("tools/tools_gen.go")
		took := timed(b, func() error { return p.petrock("sync") })
		vetted := p.touchAnd("vet")
		figures.add(b, "sync-ms", took)
		figures.add(b, "vet-ms", vetted)
		figures.add(b, "sync/vet", took/vetted)
	}
	once()
	clear(figures)
	for b.Loop() {
		once()
	}
	figures.report(b)
}

// figures are measurements, by unit.
type figures map[string][]float64

func (f figures) add(b *testing.B, unit string, figure float64) {
	b.Helper()
	f[unit] = append(f[unit], figure)
}

func (f figures) report(b *testing.B) {
	for unit, all := range f {
		b.ReportMetric(median(all), unit)
	}
	b.ReportMetric(0, "ns/op") // it would count all in
}

// timed is how long something took, in milliseconds.
func timed(b *testing.B, do func() error) float64 {
	b.Helper()
	begin := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin).Seconds() * 1e3
}

// A benchProject is a project with many tools, in sync, with its own petrock built.
type benchProject struct {
	b       *testing.B
	dir     string
	size    int
	names   int    // how many names of tools have been given
	touched string // a file of the package tools
	text    []byte // what it holds
	touches int    // how often it has been touched
}

func newBenchProject(b *testing.B, size int) *benchProject {
	b.Helper()
	b.Setenv("GOFLAGS", "-trimpath") // so that the next run finds core compiled
	b.Setenv("GOWORK", "off")
	p := &benchProject{b: b, dir: filepath.Join(b.TempDir(), "hello"), size: size}
	files, err := scaffold.Embedded().Make(scaffold.Answers{Name: "hello", Module: "example.com/hello"})
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range files {
		p.write(file.Path, file.Data)
	}
	about := gen.Project{Name: "hello", Module: "example.com/hello"}
	for range size - 1 { // there is one from birth
		draft, err := generators.Tool(about, p.next())
		if err != nil {
			b.Fatal(err)
		}
		for _, file := range draft.Files {
			p.write(file.Path, file.Text)
			p.touched, p.text = file.Path, file.Text
		}
	}
	p.touched = strings.TrimSuffix(p.touched, "_test.go") + ".go"
	if p.text, err = os.ReadFile(filepath.Join(p.dir, p.touched)); err != nil {
		b.Fatal(err)
	}
	p.run("go", "build", "-o", "bin/", "./cmd/petrock")
	if err := p.petrock("sync"); err != nil {
		b.Fatal(err)
	}
	p.run("go", "vet", "./...")
	return p
}

// next is the input for one more tool, which nothing has been made of yet.
func (p *benchProject) next() generators.ToolInput {
	p.names++
	name := fmt.Sprintf("look_up_%03d", p.names)
	fields := []string{
		`query:string:1..200 "What to look for"`,
		`limit:int?:1..100 "At most so many"`,
		`order:enum(newest,oldest,best)? "Which come first"`,
		`tags:[]string? "All of which it must have"`,
	}
	return generators.ToolInput{Name: name, Fields: fields[:3+p.names%2], Description: fmt.Sprintf("Looks things up in the catalogue %d.", p.names)}
}

// petrock runs the project's own petrock.
func (p *benchProject) petrock(args ...string) error {
	cmd := exec.Command(filepath.Join(p.dir, "bin", "petrock"), args...)
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// touchAnd changes one file of the tools, says how long go takes for their package, in
// milliseconds, and changes it back.
func (p *benchProject) touchAnd(command string) float64 {
	p.b.Helper()
	p.touches++
	// What is there is another program afterwards, so that nothing of it is in any cache.
	p.write(p.touched, fmt.Appendf(nil, "%s\nfunc touched() int { return %d + %d }\n", p.text, p.touches, time.Now().UnixNano()))
	took := timed(p.b, func() error { p.run("go", command, "./tools"); return nil })
	p.write(p.touched, p.text)
	return took
}

func (p *benchProject) run(program string, args ...string) {
	p.b.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		p.b.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

func (p *benchProject) write(name string, text []byte) {
	p.b.Helper()
	file := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.b.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		p.b.Fatal(err)
	}
}

func (p *benchProject) remove(name string) {
	p.b.Helper()
	if err := os.RemoveAll(filepath.Join(p.dir, filepath.FromSlash(name))); err != nil {
		p.b.Fatal(err)
	}
}
