package mcpcli_test

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
)

// self is the target of commands that call a server in this process.
type self struct{ server *mcp.Server }

func (self) Flags(*cobra.Command, *mcpcli.Flags) {}

func (s self) Find(_ context.Context, args []string, _ int) (*mcpcli.Server, []string, error) {
	connect := func(ctx context.Context, o client.Options) (*client.Client, func() error, error) {
		c, err := client.InProcess(ctx, s.server, o)
		if err != nil {
			return nil, nil, err
		}
		return c, c.Close, nil
	}
	return &mcpcli.Server{Name: "adder", Connect: connect}, args, nil
}

// A command line that calls its own server.
func ExampleCommands() {
	type numbers struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	server := mcp.NewServer(mcp.Implementation{Name: "adder", Version: "1.0.0"}, mcp.Options{})
	add := func(_ context.Context, in numbers) (int, error) { return in.A + in.B, nil }
	if err := mcp.AddTool(server, mcp.Tool{Name: "add", Description: "Adds two numbers."}, add); err != nil {
		fmt.Println(err)
		return
	}
	run := func(args ...string) {
		root := &cobra.Command{Use: "adder"}
		env := mcpcli.Env{Out: os.Stdout, Err: os.Stderr, Program: "adder", Target: func() mcpcli.Target { return self{server} }}
		mcpcli.AddGroup(root, "Calling:", mcpcli.Commands(env)...)
		mcpcli.Finish(root, "adder 1.0.0")
		mcpcli.PrintError(mcpcli.Execute(context.Background(), root, args))
	}
	run("tools")
	run("call", "add", "a=2", "b=3")
	run("version")
	// Output:
	// add a=integer b=integer
	//     Adds two numbers.
	// 5
	// adder 1.0.0
}
