package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/cmd/petrock/internal/create"
	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/cmd/petrock/internal/workdir"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators/devserver"
)

const newProjectSchema = `{"type":"object","properties":{"name":{"type":"string","description":"Such as weather"},"module":{"type":"string","description":"Go module; default: the name"},"dir":{"type":"string","description":"New or empty folder; default: the name"}},"required":["name"]}`

type newProjectInput struct {
	Name   string `json:"name"`
	Module string `json:"module"`
	Dir    string `json:"dir"`
}

// newProjectOutput is the output of new_project: that of petrock new --json, without the list of
// files.
type newProjectOutput struct {
	OK       bool     `json:"ok"`
	Name     string   `json:"name"`
	Module   string   `json:"module"`
	Dir      string   `json:"dir"`
	Files    int      `json:"files"`
	Programs []string `json:"programs"`
	Notes    []string `json:"notes,omitempty"`
	Next     []string `json:"next"`
}

// String describes the project and the next steps.
func (o newProjectOutput) String() string {
	lines := []string{fmt.Sprintf("Created %s (module %s) with %d files in %s.", o.Name, o.Module, o.Files, o.Dir)}
	lines = append(lines, slices.Concat(o.Notes, o.Next)...)
	return strings.Join(lines, "\n") + "\n"
}

// newDevServer returns a dev server for the projects in a working directory, with the tool
// new_project.
func newDevServer(o devserver.Options) (*devserver.Tools, error) {
	dir, err := workdir.Open(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Find = dir.Find
	tools, err := devserver.New(o)
	if err != nil {
		return nil, err
	}
	return tools, mcp.AddTool(tools.Server, mcp.Tool{
		Name:        "new_project",
		Description: "Creates a project: an MCP server in Go with the tool add. The first takes half a minute. The other tools then work on it.",
		InputSchema: json.RawMessage(newProjectSchema),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)},
	}, func(ctx context.Context, in newProjectInput) (*mcp.ToolResult, error) {
		out, err := newProject(ctx, dir, o.Dir, in)
		return devserver.Answer(ctx, out, err)
	})
}

// newProject creates a project below a working directory.
func newProject(ctx context.Context, below *workdir.Dir, base string, in newProjectInput) (newProjectOutput, error) {
	in.Module, in.Dir = cmp.Or(in.Module, in.Name), cmp.Or(in.Dir, in.Name)
	dir, err := below.Resolve(in.Dir)
	if err != nil {
		return newProjectOutput{}, err
	}
	step := 0.0
	result, err := create.Run(ctx, scaffold.Embedded(), create.Options{
		Answers: scaffold.Answers{Name: in.Name, Module: in.Module},
		Dir:     dir,
		Base:    base,
		Step: func(title string) {
			step++
			mcp.Progress(ctx, step, 0, title)
		},
	})
	if err != nil {
		return newProjectOutput{}, err
	}
	below.SetCurrent(result.Dir)
	return newProjectOutput{
		OK: true, Name: result.Name, Module: result.Module, Dir: result.Dir,
		Files: len(result.Files), Programs: result.Programs, Notes: result.Notes,
		Next: []string{"Add a tool with generate_tool, and call it with call."},
	}, nil
}
