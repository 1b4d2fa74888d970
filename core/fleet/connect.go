package fleet

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcpconfig"
)

// Connect begins to speak to one server: it starts the program, or calls the address. What the configuration says of headers and
// transport comes before what o says. stderr is written what a program writes to its standard error; nil is nowhere.
func Connect(ctx context.Context, s *mcpconfig.Server, o client.Options, stderr io.Writer) (*client.Client, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	switch s.Kind {
	case mcpconfig.Stdio:
		return client.Start(ctx, client.Command{Program: s.Command, Args: s.Args, Env: s.Env, Dir: s.Dir, Stderr: stderr}, o)
	case mcpconfig.HTTP, mcpconfig.SSE:
		header := make(http.Header, len(o.Header)+len(s.Header))
		maps.Copy(header, o.Header)
		maps.Copy(header, s.Header)
		o.Header, o.SSE = header, s.Kind == mcpconfig.SSE
		return client.Dial(ctx, s.URL, o)
	}
	return nil, fmt.Errorf("%s: there is no way to speak to a server of the kind %q", s.Name, s.Kind)
}
