package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/contract"
)

// CallEnv returns the environment of commands that call MCP servers, without a target.
func CallEnv(env Env) mcpcli.Env {
	return mcpcli.Env{
		In: os.Stdin, Out: env.Out, Err: env.Err, Dir: env.Dir, Program: env.Program,
		Info: mcp.Implementation{Name: "petrock", Version: generators.Version},
	}
}

// newCalls returns the commands that call the project's server.
func newCalls(env Env) []*cobra.Command {
	calls := CallEnv(env)
	calls.Target = func() mcpcli.Target { return &projectServer{env: env} }
	return mcpcli.Commands(calls)
}

// projectServer is a target that builds and starts the server of the project in env.Dir.
type projectServer struct {
	env    Env
	common *mcpcli.Flags
}

func (t *projectServer) Flags(_ *cobra.Command, common *mcpcli.Flags) { t.common = common }

func (t *projectServer) Servers() []string { return nil }

func (t *projectServer) Find(words []string, dash int, _ mcpcli.Shape) (*mcpcli.Server, []string, error) {
	if dash >= 0 {
		return nil, nil, terminal.Usagef("the project's petrock calls only the project's server; install petrock to call others")
	}
	found, err := project.Find(t.env.Dir)
	if err != nil {
		return nil, nil, err
	}
	known := func() mcpcli.Lists { return contractLists(found.Root) }
	return &mcpcli.Server{Name: found.Name, Known: known, Connect: func(ctx context.Context, o client.Options) (*client.Client, func() error, error) {
		var stderr io.Writer
		if t.common.Verbose {
			stderr = terminal.NewPlainWriter(t.env.Err, math.MaxInt)
		}
		if o.ConnectTimeout == 0 {
			o.ConnectTimeout = o.Timeout
		}
		command := client.Command{Program: "go", Args: []string{"run", "./cmd/" + found.Name, "mcp"}, Dir: found.Root, Stderr: stderr}
		c, err := client.Start(ctx, command, o)
		if err != nil {
			return nil, nil, &terminal.UnreachableError{Err: fmt.Errorf("start the server %s: %w", found.Name, err)}
		}
		return c, func() error { c.Close(); return nil }, nil
	}}, words, nil
}

// contractLists returns the tools, resources and prompts in contract.json, or nil if it cannot be read.
func contractLists(root string) mcpcli.Lists {
	text, err := os.ReadFile(filepath.Join(root, contract.File))
	if err != nil {
		return nil
	}
	c, err := contract.Parse(text)
	if err != nil {
		return nil
	}
	lists := mcpcli.Lists{}
	for method, entries := range map[string]map[string]json.RawMessage{"tools/list": c.Tools, "resources/list": c.Resources, "prompts/list": c.Prompts} {
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			lists[method] = append(lists[method], entries[name])
		}
	}
	return lists
}
