// The server of a project that checks tokens has another identity.go, which is all that is taken from here. The rest
// stands in for what that finds in a project, so that it is compiled and vetted here.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/mcp"
)

// programName is the name of the program.
const programName = "server"

// An extension is what it is in a project.
type extension interface {
	Flags(cmd *cobra.Command)
	Commands() []*cobra.Command
	Open(ctx context.Context, s *mcp.Server, log *slog.Logger) (end func() error, err error)
}

// A gateKeeper is what it is in a project.
type gateKeeper interface {
	extension
	Gate(resource string, log *slog.Logger) (gate auth.Gate, pages map[string]http.Handler, err error)
	Way() string
}

func main() {
	for _, e := range gateKeepers() {
		_, is := e.(gateKeeper)
		fmt.Println(is)
	}
}
