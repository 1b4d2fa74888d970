package main

import (
	"os"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcpcli"
)

// newEnv is what the commands know that speak to MCP servers: tools, call, resources, read, prompts, prompt and doctor. Where no
// server is named it is this one, started anew.
func newEnv(out, errOut *os.File) mcpcli.Env {
	env := mcpcli.Env{In: os.Stdin, Out: out, Err: errOut, Program: programName, Info: mcp.Implementation{Name: programName, Version: version}}
	env.Dir, _ = os.Getwd() // it may have been removed meanwhile, and help is help all the same
	if self, err := os.Executable(); err == nil {
		env.Self = []string{self, "mcp"}
	}
	return env
}
