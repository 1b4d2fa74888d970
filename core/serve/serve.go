// Package serve is the command line of an MCP server. A main package describes the server, and
// [Main] does the rest:
//
//	func main() {
//		os.Exit(serve.Main(serve.Config{Name: "hello", Wire: wire}))
//	}
//
// The command mcp serves over standard input and output, and serve over HTTP. tools, call,
// resources, read, prompts and prompt call the server in this process. An [Extension] adds more
// commands.
//
// Main reserves standard output for the protocol and for the results of commands: output of the
// server's own code to os.Stdout goes to standard error. Call it first in main, because the client
// would read earlier output as a broken message. The same holds for output of a package's
// initializer.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/petrock/petrock/core/mcphttp"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/stdfd"
)

// Config describes a server.
type Config struct {
	// Name is the name of the program, and of the server that clients see.
	Name string

	// Wire returns the functions that register the server's components. Main calls it once.
	Wire func() Wiring

	// Version is the version that clients see (default: the version of the main module).
	Version string

	// Instructions tell the model how to use the server as a whole. They may be empty.
	Instructions string

	// Addr is the default of serve --addr (default 127.0.0.1:8181).
	Addr string

	// KeysRequired makes serve refuse to start without API keys. Otherwise it needs keys, another
	// authentication or --behind-proxy only on addresses that other machines can reach.
	KeysRequired bool
}

// A Wiring registers the tools, resources, prompts and extensions of a server.
type Wiring struct {
	// Register registers tools, resources and prompts. ctx is the context of the command, which
	// does not end when serve gets a signal. Register may be nil.
	Register func(ctx context.Context, s *mcp.Server) error

	// Extensions returns the extensions of a program with this name. They are opened in order after
	// Register, and closed in reverse order. Extensions may be nil.
	Extensions func(programName string) []Extension
}

// An Extension adds tools, resources, flags and commands to a server.
type Extension interface {
	// Flags adds flags to a command that runs the server: mcp, serve, call and so on.
	Flags(cmd *cobra.Command)

	// Commands returns commands to add to the command line. The GroupID of a command is its heading
	// in the help (default "Other commands:").
	Commands() []*cobra.Command

	// Open registers tools, resources and prompts on s, and starts background work, which logs to
	// log. end stops that work and waits for it. ctx is as in [Wiring].Register.
	Open(ctx context.Context, s *mcp.Server, log *slog.Logger) (end func() error, err error)
}

// A ReadOnlyExtension is an extension that stores data, and can serve without changing it.
type ReadOnlyExtension interface {
	Extension

	// SetReadOnly makes the extension refuse changes with this reason. It is called before Open.
	SetReadOnly(reason string)
}

// A ServerExtension is an extension with commands that call the server in this process.
type ServerExtension interface {
	Extension

	// SetOpen passes a function that opens the server with its components and extensions; end
	// closes them. logArguments adds the arguments of calls to the log. It is called before
	// Commands.
	SetOpen(open func(ctx context.Context, log *slog.Logger, logArguments bool) (server *mcp.Server, end func() error, err error))
}

// A HealthExtension is an extension that can become unable to serve, for example if its store
// fails.
type HealthExtension interface {
	Extension

	// Health returns why the server cannot answer calls, and which calls it cannot answer while it
	// answers others. Everyone can read the reasons. It is called after Open, and must not block.
	Health() (unready, degraded []string)
}

// An Authenticator is an extension that authenticates the callers of serve.
type Authenticator interface {
	Extension

	// Gate returns a gate, and its public pages by path. The gate is nil if it is not configured.
	// resource is the URL of the server as clients know it, such as https://mcp.example.com/mcp, or
	// "" if it is unknown.
	Gate(resource string, log *slog.Logger) (gate auth.Gate, pages map[string]http.Handler, err error)

	// SetupHint returns a hint on how to configure the gate, such as "set the issuer with
	// --oauth-issuer".
	SetupHint() string
}

// Main runs the command line of a server with the arguments of this process, and returns the exit
// code.
func Main(c Config) int {
	out, err := stdfd.TakeStdout()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", c.Name, err)
		return terminal.ExitFailure
	}
	return Run(context.Background(), c, os.Args[1:], out, os.Stderr)
}

// Run is [Main] with other arguments and files, for tests of a program. It does not reserve
// standard output.
func Run(ctx context.Context, c Config, args []string, out, errOut *os.File) int {
	p := newProgram(c, out, errOut)
	root := p.newRoot()
	root.SetOut(out)
	root.SetErr(errOut)
	mcpcli.Finish(root, p.Name+" "+p.Version+" "+runtime.Version())
	return mcpcli.PrintError(mcpcli.Execute(ctx, root, args))
}

type program struct {
	Config
	register    func(ctx context.Context, s *mcp.Server) error
	extensions  []Extension
	keyFile     string // value of --keys
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

// versionOf returns the version of the main module, or devel if it has none.
func versionOf(info *debug.BuildInfo) string {
	if info == nil || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

func (p *program) newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   p.Name,
		Short: "Serve MCP, or call this server's tools",
		Long: "Serve MCP, over stdio or HTTP. Or call this server's tools, resources and prompts from a terminal.\n" +
			"MCP clients start " + p.Name + " mcp.",
		Example: "  " + p.Name + " tools\n  " + p.Name + " mcp\n  " + p.Name + " serve",
	}
	mcpcli.AddGroup(root, "Serve clients:", p.newMCP(), p.newServe(), p.newCheck(), p.newKeys())
	mcpcli.AddGroup(root, "Call the server:", p.newCalls()...)
	for _, e := range p.extensions {
		if e, ok := e.(ServerExtension); ok {
			e.SetOpen(p.open)
		}
		for _, cmd := range e.Commands() {
			mcpcli.AddGroup(root, cmp.Or(cmd.GroupID, "Other commands:"), cmd)
		}
	}
	return root
}

// addReadOnly adds --read-only to a command that serves clients.
func (p *program) addReadOnly(cmd *cobra.Command) {
	const reason = "it was started with --read-only"
	cmd.Flags().Func("read-only", "refuse all commands of features with `REASON`, and run no workers; queries and other tools still work", func(given string) error {
		for _, e := range p.extensions {
			if e, ok := e.(ReadOnlyExtension); ok {
				e.SetReadOnly(cmp.Or(given, reason))
			}
		}
		return nil
	})
	cmd.Flags().Lookup("read-only").NoOptDefVal = reason
}

func (p *program) addFlags(cmd *cobra.Command) {
	for _, e := range p.extensions {
		e.Flags(cmd)
	}
}

// open returns the server with its tools, resources, prompts and extensions. end closes the
// extensions. logArguments adds the arguments of calls to the log.
func (p *program) open(ctx context.Context, log *slog.Logger, logArguments bool) (server *mcp.Server, end func() error, err error) {
	if server, err = p.newServer(log, logArguments); err != nil {
		return nil, nil, err
	}
	end, err = p.addComponents(ctx, server, log)
	return server, end, err
}

// newServer returns the server without its components.
func (p *program) newServer(log *slog.Logger, logArguments bool) (*mcp.Server, error) {
	key, err := p.stateKey()
	if err != nil {
		return nil, err
	}
	return mcp.NewServer(mcp.Implementation{Name: p.Name, Version: p.Version}, mcp.Options{Instructions: p.Instructions, StateKey: key, Logger: log, CallLog: log, LogArguments: logArguments}), nil
}

// addComponents adds the tools, resources, prompts and extensions to the server, and opens the
// extensions in order. end closes them in reverse order. If one cannot be opened, addComponents
// closes those before it.
func (p *program) addComponents(ctx context.Context, server *mcp.Server, log *slog.Logger) (end func() error, err error) {
	if p.register != nil {
		if err := p.register(ctx, server); err != nil {
			return nil, err
		}
	}
	var ends []func() error
	end = func() (err error) {
		for _, end := range slices.Backward(ends) {
			err = errors.Join(err, end())
		}
		return err
	}
	for _, e := range p.extensions {
		endOne, err := e.Open(ctx, server, log)
		if err != nil {
			return nil, errors.Join(err, end())
		}
		ends = append(ends, endOne)
	}
	return end, nil
}

const minStateKey = 16 // bytes

// stateKey returns the key that signs the state that clients carry between requests, from the
// environment, or nil for a random key.
func (p *program) stateKey() ([]byte, error) {
	text, ok, err := project.LookupSetting(p.Name, "state_key")
	switch {
	case err != nil || !ok:
		return nil, err
	case len(text) < minStateKey:
		return nil, fmt.Errorf("%s has %d characters, fewer than %d; generate a key with openssl rand -hex 32, or unset it", p.variable("state_key"), len(text), minStateKey)
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
		Long: `Serve MCP over standard input and output to one client, until it closes the input. MCP clients start
this command.

With --dev, run the dev server instead: the project's own petrock, whose tools generate code. It needs
the project's source, in a folder that contains the working directory or this program.`,
		Example: "  " + p.Name + " mcp\n  " + p.Name + " mcp --dev",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dev {
				return p.serveDev()
			}
			if terminal.IsTerminal(os.Stdin) {
				fmt.Fprintf(p.errOut, "%s mcp reads MCP messages from standard input. MCP clients start it; press Ctrl-D to end it.\n", p.Name)
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
	cmd.Flags().BoolVar(&dev, "dev", false, "run the dev server instead")
	p.addReadOnly(cmd)
	p.addFlags(cmd)
	return cmd
}

// serveDev runs the project's own petrock. Where the system allows it, petrock replaces this
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

// newCalls returns the commands that call this server.
func (p *program) newCalls() []*cobra.Command {
	dir, _ := os.Getwd() // help works even if it was removed
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

func (t *inProcess) Flags(cmd *cobra.Command, common *mcpcli.Flags) {
	t.common = common
	t.program.addFlags(cmd)
}

func (t *inProcess) Find(_ context.Context, words []string, dash int) (*mcpcli.Server, []string, error) {
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
	slog.SetDefault(log) // for the project's own code
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

// logFlags are the logging flags of the commands mcp and serve.
type logFlags struct {
	level, format string
	arguments     bool
}

func (l *logFlags) add(cmd *cobra.Command, level string) {
	flags := cmd.Flags()
	flags.StringVar(&l.level, "log-level", level, "log level: debug, info (a line for each call), warn or error")
	flags.StringVar(&l.format, "log-format", "text", "log format: text or json")
	flags.BoolVar(&l.arguments, "log-arguments", false, "log the arguments of calls too, which may be private")
}

// open returns the log, and makes it the default logger.
func (l *logFlags) open(errOut io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return nil, terminal.Usagef("--log-level %q: use debug, info, warn or error", l.level)
	}
	o := &slog.HandlerOptions{Level: level}
	var log *slog.Logger
	switch l.format {
	case "text":
		log = slog.New(slog.NewTextHandler(errOut, o))
	case "json":
		log = slog.New(slog.NewJSONHandler(errOut, o))
	default:
		return nil, terminal.Usagef("--log-format %q: use text or json", l.format)
	}
	slog.SetDefault(log)
	return log, nil
}

// announce prints a line, or logs it if the log format is JSON.
func (l *logFlags) announce(log *slog.Logger, errOut io.Writer, name, line string) {
	if l.format == "json" {
		log.Info(line)
		return
	}
	fmt.Fprintf(errOut, "%s: %s\n", name, line)
}
