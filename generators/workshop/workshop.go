// Package workshop offers what can be done with a project as MCP tools, to the agent that works in it.
//
// It never imports what the user writes, so it answers while that does not compile.
package workshop

import (
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators"
)

// Tools are the tools of the workshop. They work on the project that Dir is in.
type Tools struct {
	Dir string
}

const instructions = `This is the workshop of a Go project that is an MCP server. Its tools look at the project; the tools that the project itself offers are served by its own program, not here.
Call project_status first: it says what the project is and whether it compiles. Call it again after every change to Go files, and mend what it reports.`

// NewServer is a server that offers the tools for the project that dir is in.
//
//petrock:ignore
func NewServer(dir string) (*mcp.Server, error) {
	server := mcp.NewServer(mcp.Implementation{Name: "petrock", Title: "Petrock workshop", Version: generators.Version}, mcp.Options{Instructions: instructions})
	if err := (&Tools{Dir: dir}).Register(server); err != nil {
		return nil, err
	}
	return server, nil
}
