package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcphttp"
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
)

// A servingHTTP is what serve was told.
type servingHTTP struct {
	web          mcphttp.ServeOptions
	mcp          mcphttp.Options
	publicURL    string
	verbose      bool
	keysRequired bool     // wherever it listens
	ways         []string // how to authenticate callers by extensions that are not in use
	with         []extension
}

func newServe(with []extension) *cobra.Command {
	s := &servingHTTP{with: with, keysRequired: keysRequired}
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Serve MCP over HTTP",
		Long:    serveLong(keysRequired),
		Example: serveExample(keysRequired),
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), cmd.ErrOrStderr()) },
	}
	s.flags(cmd)
	for _, e := range with {
		e.Flags(cmd)
	}
	return cmd
}

// flags adds what serve takes to its command.
func (s *servingHTTP) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.web.Addr, "addr", defaultAddr, "where to listen; port 0 is any that is free")
	flags.BoolVar(&s.web.BehindProxy, "behind-proxy", false, frontUsage(s.keysRequired))
	flags.StringVar(&s.publicURL, "public-url", "", "what clients call the server by, such as https://mcp.example.com/mcp")
	flags.StringArrayVar(&s.web.Origins, "allow-origin", nil, "a further origin whose pages may call, or * for all (may be repeated)")
	flags.StringArrayVar(&s.web.Hosts, "allow-host", nil, "a further name to be called by on a loopback address (may be repeated)")
	flags.BoolVar(&s.web.Health, "healthz", false, "say at /healthz that the server is there, to everybody")
	flags.BoolVar(&s.verbose, "verbose", false, "log each request on standard error, with its status and how long it took; never what is in it")
	flags.Var(newSizeFlag(&s.mcp.MaxBody), "max-body", "the largest message, in bytes or as 4MiB (0 for 1MiB)")
	flags.Var(newSizeFlag(&s.web.MaxHeader), "max-header", "the largest header, in bytes or as 128KiB (0 for 64KiB)")
	flags.DurationVar(&s.web.HeaderTimeout, "header-timeout", 0, "how long a header may take (0 for 10s)")
	flags.DurationVar(&s.web.BodyTimeout, "body-timeout", 0, "how long a body may take (0 for 30s)")
	flags.DurationVar(&s.mcp.WriteTimeout, "write-timeout", 0, "how long a client may take nothing of an answer (0 for 30s)")
	flags.DurationVar(&s.web.Idle, "idle-timeout", 0, "how long a connection without requests is kept (0 for 2m)")
	flags.DurationVar(&s.mcp.SessionIdle, "session-idle", 0, "how long a session is kept without a word of its client (0 for 30m)")
	flags.IntVar(&s.mcp.MaxSessions, "max-sessions", 0, "how many sessions there may be (0 for 10000)")
	flags.IntVar(&s.mcp.MaxSessionsEach, "max-sessions-each", 0, "how many sessions a client may have (0 for 1000)")
	flags.IntVar(&s.mcp.MaxCalls, "max-calls", 0, "how many calls may be in flight (0 for 1000)")
	flags.Var(newSizeFlag(&s.mcp.ReplayBuffer), "replay-buffer", "what is kept of a session for a client that lost its connection, in bytes or as 1MiB (0 for 256KiB)")
	flags.DurationVar(&s.mcp.KeepAlive, "keep-alive", 0, "how often something goes over a quiet stream (0 for 15s)")
	flags.DurationVar(&s.web.Grace, "grace", 0, "how long calls in flight may go on at the end (0 for 10s)")
}

// run serves until the process is told to stop.
func (s *servingHTTP) run(ctx context.Context, errOut io.Writer) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := s.addKeys(); err != nil {
		return err
	}
	listener, err := mcphttp.Listen(ctx, s.web.Addr)
	if err != nil {
		return s.explain(err)
	}
	defer listener.Close()
	s.web.Listener = listener
	level := slog.LevelInfo
	if s.verbose {
		level = slog.LevelDebug
	}
	s.web.Logger = slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: level}))
	if err := s.addGates(listener.Addr()); err != nil {
		return err
	}
	server, end, err := newServer(ctx, s.web.Logger, s.with)
	if err != nil {
		return err
	}
	s.web.Ready = func(addr net.Addr) {
		for _, line := range s.announce(addr, server.ToolScopes()) {
			fmt.Fprintf(errOut, "%s: %s\n", programName, line)
		}
	}
	if s.web.BehindProxy {
		s.mcp.Client = mcphttp.ForwardedClient
	}

	until, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(until, stop) // so that a second signal ends the process
	return errors.Join(s.explain(mcphttp.Serve(until, mcphttp.NewHandler(server, s.mcp), s.web)), end())
}

// check says what is wrong with what was typed.
func (s *servingHTTP) check() error {
	for flag, value := range map[string]int64{
		"max-sessions": int64(s.mcp.MaxSessions), "max-sessions-each": int64(s.mcp.MaxSessionsEach), "max-calls": int64(s.mcp.MaxCalls),
		"session-idle": int64(s.mcp.SessionIdle), "keep-alive": int64(s.mcp.KeepAlive), "write-timeout": int64(s.mcp.WriteTimeout),
		"header-timeout": int64(s.web.HeaderTimeout), "body-timeout": int64(s.web.BodyTimeout), "idle-timeout": int64(s.web.Idle), "grace": int64(s.web.Grace),
	} {
		if value < 0 {
			return terminal.Usagef("--%s cannot be negative; 0 is what is usual", flag)
		}
	}
	s.web.Remedy = remedy
	if s.publicURL != "" {
		host, err := hostOf(s.publicURL)
		if err != nil {
			return &terminal.UsageError{Err: err}
		}
		s.web.Hosts = append(s.web.Hosts, host)
	}
	if err := s.web.Check(); err != nil {
		return &terminal.UsageError{Err: s.explain(err)}
	}
	return nil
}

// remedy names the flag that would allow a request that was refused.
func remedy(err error) string {
	switch e := err.(type) {
	case *mcphttp.HostError:
		return "the operator can allow it with --allow-host"
	case *mcphttp.OriginError:
		return "the operator can allow it with --allow-origin"
	case *mcphttp.PathError:
		if e.Path == mcphttp.HealthPath {
			return "the operator can enable it with --healthz"
		}
	}
	return ""
}

// explain adds the flag or the remedy to an error of mcphttp.
func (s *servingHTTP) explain(err error) error {
	if option, ok := errors.AsType[*mcphttp.OptionError](err); ok {
		flags := map[string]string{
			"Addr": "--addr", "Hosts": "--allow-host", "Origins": "--allow-origin", "MaxHeader": "--max-header",
			"HeaderTimeout": "--header-timeout", "BodyTimeout": "--body-timeout", "Idle": "--idle-timeout", "Grace": "--grace",
		}
		if flag := flags[option.Option]; flag != "" {
			return fmt.Errorf("%s %q: %s", flag, option.Value, option.Reason)
		}
	}
	if _, ok := errors.AsType[*mcphttp.UnprotectedError](err); ok {
		remedies := append([]string{"set " + keyVariable() + " to a key (openssl rand -hex 32 makes one)"}, s.ways...)
		remedies = append(remedies, "use --behind-proxy if a proxy handles TLS and authentication", "or listen on "+mcphttp.DefaultAddr)
		return fmt.Errorf("%w; %s", err, strings.Join(remedies, ", "))
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w; choose another port with --addr, or 0 for a free one", err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%w; choose a port above 1023 with --addr", err)
	}
	return err
}

// keyVariable is the environment variable for API keys.
func keyVariable() string { return project.Variable(programName, "api_key") }
