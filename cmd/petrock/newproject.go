package main

import (
	"context"
	"encoding/json"

	"github.com/petrock/petrock/cmd/petrock/internal/create"
	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators/cli"
	"github.com/petrock/petrock/generators/devserver"
)

// newProjectSchema is the input schema of new_project.
const newProjectSchema = `{"type":"object","properties":{"name":{"type":"string","description":"Name of the project and of its server's program, such as weather"},"module":{"type":"string","description":"Path of its Go module, such as example.com/weather; the name if it is left out"},"dir":{"type":"string","description":"Folder that it goes to, below where this server was started, . for that folder itself; the name if it is left out. Nothing may be there yet"}},"required":["name"],"additionalProperties":false}`

// newProjectInput is the input of new_project.
type newProjectInput struct {
	Name   string `json:"name"`
	Module string `json:"module"`
	Dir    string `json:"dir"`
}

// newProjectOutput is the output of new_project: that of petrock new --json, without the list of files.
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

// offerNew adds the tool new_project to a dev server.
func offerNew(env cli.Env) func(*devserver.Tools, *mcp.Server) error {
	return func(tools *devserver.Tools, server *mcp.Server) error {
		no := false
		return mcp.AddTool(server, mcp.Tool{
			Name:        "new_project",
			Description: "Makes a project: an MCP server in Go with one example tool, add, which builds, serves and tests itself. Either a whole project is made or nothing; the first time that takes half a minute. It is what the other tools work on from then on.",
			InputSchema: json.RawMessage(newProjectSchema),
			Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no},
		}, func(ctx context.Context, in newProjectInput) (*mcp.ToolResult, error) {
			made, err := newProject(ctx, env, tools, in)
			return devserver.Answer(ctx, made, err)
		})
	}
}

// newProject creates a project below the directory that the dev server was started in.
func newProject(ctx context.Context, env cli.Env, tools *devserver.Tools, in newProjectInput) (newProjectOutput, error) {
	if in.Module == "" {
		in.Module = in.Name
	}
	if in.Dir == "" {
		in.Dir = in.Name
	}
	dir, err := tools.ResolveDir(in.Dir)
	if err != nil {
		return newProjectOutput{}, err
	}
	step := 0.0
	result, err := create.Run(ctx, scaffold.Embedded(), create.Options{
		Answers: scaffold.Answers{Name: in.Name, Module: in.Module},
		Dir:     dir,
		Base:    env.Dir,
		Step: func(what string) {
			step++
			mcp.Progress(ctx, step, 0, what)
		},
	})
	if err != nil {
		return newProjectOutput{}, err
	}
	tools.SetCurrent(result.Dir)
	return newProjectOutput{
		OK: true, Name: result.Name, Module: result.Module, Dir: result.Dir,
		Files: len(result.Files), Programs: result.Programs, Notes: result.Notes,
		Next: []string{"generate_tool makes a tool in it, and call tries it."},
	}, nil
}
