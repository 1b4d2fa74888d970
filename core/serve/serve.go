// Package serve is the command line of an MCP server. A main package describes the server, and
// [Main] does the rest:
//
//	func main() {
//		os.Exit(serve.Main(serve.Config{Name: "hello", Wire: wire}))
//	}
//
// The commands are mcp (serve over standard input and output), serve (over HTTP), version,
// completion, and those that call the server's own tools, resources and prompts in this process:
// tools, call, resources, read, prompts and prompt. An [Extension] adds more.
//
// Linking this package reserves standard output for the protocol from the start: see package stdout.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/mcphttp"
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/serve/stdout"
	"github.com/petrock/petrock/core/terminal"
)

// Config describes a server.
type Config struct {
	// Name is the name of the program, and of the server that clients see.
	Name string

	// Wire returns what the server offers.
	Wire func() Wiring

	// Version is the version that clients see (default: that of the main module, from build
	// information).
	Version string

	// Instructions tell the model how to use the server as a whole. They may be empty.
	Instructions string

	// Addr is the default of serve --addr (default 127.0.0.1:8181).
	Addr string

	// KeysRequired makes serve refuse to start without API keys. Otherwise it requires them only
	// where other machines reach it.
	KeysRequired bool
}

// A Wiring is what a server offers.
type Wiring struct {
	// Register registers tools, resources and prompts. ctx ends with the server.
	Register func(ctx context.Context, s *mcp.Server) error

	// Extensions returns the extensions of a program with this name. They are opened in order after
	// Register, and ended in reverse order. It may be nil.
	Extensions func(programName string) []Extension
}

// An Extension is a further part of a server, with its own flags and commands.
type Extension interface {
	// Flags adds the extension's flags to a command that runs the server: mcp, serve, call and so on.
	Flags(cmd *cobra.Command)

	// Commands returns the extension's own commands.
	Commands() []*cobra.Command

	// Open registers on s what the extension offers, and starts its background work, which logs to
	// log. end stops it and waits.
	Open(ctx context.Context, s *mcp.Server, log *slog.Logger) (end func() error, err error)
}

// An Authenticator is an extension that identifies the callers of serve.
type Authenticator interface {
	Extension

	// Gate returns a gate, and the pages that belong to it by their paths, which are public. The
	// gate is nil if it is not configured. resource is the URL of the server as clients know it,
	// such as https://mcp.example.com/mcp, or "" if it is not known.
	Gate(resource string, log *slog.Logger) (gate auth.Gate, pages map[string]http.Handler, err error)

	// Way says how to configure the gate, such as "name the issuer with --oauth-issuer".
	Way() string
}

// Main runs the command line of a server with the arguments of this process, and returns the exit code.
func Main(c Config) int {
	out := os.NewFile(stdout.FD(), "stdout") // os.Stdout is standard error
	return run(context.Background(), c, os.Args[1:], out, os.Stderr)
}

func run(ctx context.Context, c Config, args []string, out, errOut *os.File) int {
	started := false
	p := newProgram(c, out, errOut)
	root := p.newRoot()
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetArgs(args)
	mcpcli.Finish(root, p.Name+" "+p.Version+" "+runtime.Version())
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !started {
		err = &terminal.UsageError{Err: err}
	}
	status := terminal.ExitCode(err)
	if err != nil {
		fmt.Fprintf(errOut, "%s %v\n", terminal.Red.On(errOut, c.Name+":"), err)
	}
	if status == terminal.ExitUsage {
		fmt.Fprintf(errOut, "Run '%s --help' for usage.\n", cmd.CommandPath())
	}
	return status
}

type program struct {
	Config
	register    func(ctx context.Context, s *mcp.Server) error
	extensions  []Extension
	out, errOut *os.File
}

func newProgram(c Config, out, errOut *os.File) *program {
	info, _ := debug.ReadBuildInfo()
	c.Version = cmp.Or(c.Version, versionOf(info))
	c.Addr = cmp.Or(c.Addr, mcphttp.DefaultAddr)
	wiring := c.Wire()
	p := &program{Config: c, register: wiring.Register, out: out, errOut: errOut}
	if wiring.Extensions != nil {
		p.extensions = wiring.Extensions(c.Name)
	}
	return p
}

// versionOf returns the version of the main module: that of go install, the pseudo-version of a
// build from a checkout, or devel.
func versionOf(info *debug.BuildInfo) string {
	if info == nil || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

func (p *program) newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   p.Name,
		Short: p.Name + " is an MCP server",
		Long: p.Name + " is an MCP server.\n\n" +
			"Clients start it with: " + p.Name + " mcp\n" +
			"It serves HTTP with:   " + p.Name + " serve\n" +
			"Call its tools with:   " + p.Name + " call",
		SilenceErrors: true, // run prints them
		SilenceUsage:  true,
	}
	mcpcli.AddGroup(root, "Serve clients:", p.newMCP(), p.newServe())
	mcpcli.AddGroup(root, "Call the server:", p.newCalls()...)
	for _, e := range p.extensions {
		if commands := e.Commands(); len(commands) > 0 {
			mcpcli.AddGroup(root, "Manage data:", commands...)
		}
	}
	return root
}

func (p *program) addFlags(cmd *cobra.Command) {
	for _, e := range p.extensions {
		e.Flags(cmd)
	}
}

// open returns the server with everything that it offers. ctx ends with the server, and end is
// called after it.
func (p *program) open(ctx context.Context, log *slog.Logger, arguments bool) (server *mcp.Server, end func() error, err error) {
	key, err := p.stateKey()
	if err != nil {
		return nil, nil, err
	}
	server = mcp.NewServer(mcp.Implementation{Name: p.Name, Version: p.Version}, mcp.Options{Instructions: p.Instructions, StateKey: key, Logger: log, CallLog: log, LogArguments: arguments})
	if err := p.register(ctx, server); err != nil {
		return nil, nil, err
	}
	end, err = openAll(ctx, server, log, p.extensions)
	return server, end, err
}

// openAll opens extensions in order. end ends all of them in reverse order. If one cannot be
// opened, those before it are ended.
func openAll(ctx context.Context, s *mcp.Server, log *slog.Logger, extensions []Extension) (end func() error, err error) {
	var ends []func() error
	end = func() error {
		var errs []error
		for _, end := range slices.Backward(ends) {
			errs = append(errs, end())
		}
		return errors.Join(errs...)
	}
	for _, e := range extensions {
		one, err := e.Open(ctx, s, log)
		if err != nil {
			return nil, errors.Join(err, end())
		}
		ends = append(ends, one)
	}
	return end, nil
}

// minStateKey is the minimum length of a state key.
const minStateKey = 16

// stateKey returns the key that signs state which clients carry between requests: that of the
// environment, or nil for a random one.
func (p *program) stateKey() ([]byte, error) {
	variable := p.variable("state_key")
	text, ok := os.LookupEnv(variable)
	switch {
	case !ok:
		return nil, nil
	case len(text) < minStateKey:
		return nil, fmt.Errorf("%s has %d characters, fewer than %d; generate a key with openssl rand -hex 32, or unset it", variable, len(text), minStateKey)
	}
	return []byte(text), nil
}

func (p *program) variable(name string) string { return project.Variable(p.Name, name) }

func (p *program) keyVariable() string { return p.variable("api_key") }

func (p *program) newMCP() *cobra.Command {
	var dev bool
	var flags logFlags
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve MCP over standard input and output",
		Long: `Serve MCP over standard input and output to one client, until it closes the input. MCP clients start this command.

With --dev, serve the project's own petrock instead, whose tools generate code. It needs the project's source, around the
working directory or around this program.`,
		Example: "  " + p.Name + " mcp\n  " + p.Name + " mcp --dev",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dev {
				return p.serveDev()
			}
			if terminal.IsTerminal(os.Stdin) {
				fmt.Fprintf(p.errOut, "%s speaks MCP here, one JSON message a line. Clients start it; press Ctrl-D to end it.\n", p.Name)
			}
			log, err := flags.open(p.errOut)
			if err != nil {
				return err
			}
			server, end, err := p.open(cmd.Context(), log, flags.arguments)
			if err != nil {
				return err
			}
			return errors.Join(server.ServeStdio(cmd.Context(), p.out), end())
		},
	}
	flags.add(cmd, "warn")
	cmd.Flags().BoolVar(&dev, "dev", false, "serve the project's own petrock instead")
	p.addFlags(cmd)
	return cmd
}

// serveDev builds and runs the project's own petrock, with the standard input and output of this
// process.
func (p *program) serveDev() error {
	root, err := project.Source(p.Name)
	if err != nil {
		return fmt.Errorf("mcp --dev needs the source of %s: %w\nrun it in the project's folder", p.Name, err)
	}
	if err := os.Chdir(root); err != nil {
		return fmt.Errorf("mcp --dev: %w", err)
	}
	code, err := terminal.Exec(p.out, "go", "run", "./cmd/petrock", "mcp")
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d", code)
	}
	if err != nil {
		return fmt.Errorf("run go run ./cmd/petrock mcp in %s: %w; mcp --dev needs Go, see https://go.dev/dl", root, err)
	}
	return nil
}

// newCalls returns the commands that call this server: tools, call, resources, read, prompts and
// prompt.
func (p *program) newCalls() []*cobra.Command {
	dir, _ := os.Getwd() // it may have been removed, which must not prevent help
	return mcpcli.Commands(mcpcli.Env{
		In: os.Stdin, Out: p.out, Err: p.errOut, Dir: dir, Program: p.Name,
		Info:   mcp.Implementation{Name: p.Name, Version: p.Version},
		Target: func() mcpcli.Target { return &inProcess{program: p} },
	})
}

// inProcess is a target that runs the server in this process.
type inProcess struct {
	program *program
	common  *mcpcli.Flags
}

// Flags implements [mcpcli.Target].
func (t *inProcess) Flags(cmd *cobra.Command, common *mcpcli.Flags) {
	t.common = common
	t.program.addFlags(cmd)
}

// Servers implements [mcpcli.Target].
func (t *inProcess) Servers() []string { return nil }

// Find implements [mcpcli.Target].
func (t *inProcess) Find(words []string, dash int, _ mcpcli.Shape) (*mcpcli.Server, []string, error) {
	if dash >= 0 {
		return nil, nil, terminal.Usagef("%s calls only itself; to call another server, run petrock call", t.program.Name)
	}
	return &mcpcli.Server{Name: t.program.Name, Connect: t.connect}, words, nil
}

func (t *inProcess) connect(ctx context.Context, o client.Options) (*client.Client, func() error, error) {
	level := slog.LevelWarn
	if t.common.Verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(t.program.errOut, &slog.HandlerOptions{Level: level}))
	slog.SetDefault(log) // of the project's own code
	server, end, err := t.program.open(ctx, log, false)
	if err != nil {
		return nil, nil, err
	}
	c, err := client.InProcess(ctx, server, o)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return c, func() error { return errors.Join(c.Close(), end()) }, nil
}
