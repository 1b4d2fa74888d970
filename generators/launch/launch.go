// Package launch is the program cmd/petrock of a project. It runs petrock dev, and for all other
// commands it builds and runs the full petrock, generators/petrock. It imports few packages,
// because MCP clients wait for its first build; see TestFewPackages.
package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/handover"
	"github.com/petrock/petrock/generators/live"
)

// Main runs a command line in the project that contains the working directory, and returns the exit
// code. Where the system allows it, the full petrock replaces this process.
func Main(args []string) int {
	if live.Guard() {
		return 0
	}
	code, err := run(context.Background(), args)
	if err == nil {
		return code
	}
	fmt.Fprintf(os.Stderr, "%s %s\n", terminal.Red.On(os.Stderr, "petrock:"), terminal.Plain(err.Error()))
	return terminal.ExitCode(err)
}

func run(ctx context.Context, args []string) (exitCode int, err error) {
	o, isDev, err := parseDev(args)
	if err != nil {
		return 0, err
	}
	found, err := FindProject(".")
	if err != nil {
		return 0, err
	}
	if terminal.IsTerminal(os.Stderr) {
		_ = live.RecordGoEnviron(found.Root) // for MCP clients; without it they build with an empty cache
	}
	if isDev {
		o.Root, o.Name, o.Log = found.Root, found.Name, os.Stderr
		o.Guard = true
		return 0, ServeStdio(ctx, o, os.Stdout)
	}
	progress := &terminal.Progress{Out: os.Stderr}
	progress.Begin("building the project's petrock")
	executable, err := handover.Build(ctx, found.Root, handover.Petrock, nil)
	progress.End()
	if err != nil {
		return 0, err
	}
	return terminal.Exec(os.Stdout, executable, args...)
}

// FindProject returns the project that contains a folder.
func FindProject(dir string) (*project.Project, error) {
	found, err := project.Find(dir)
	if errors.Is(err, project.ErrNone) {
		err = fmt.Errorf("%w; change to a project's folder, or run petrock new", err)
	}
	return found, err
}

// parseDev parses the command line of dev. isDev is false for command lines of the full petrock:
// those of other commands, of dev try, and of dev with --help.
func parseDev(args []string) (o live.Options, isDev bool, err error) {
	if len(args) == 0 || args[0] != "dev" || len(args) > 1 && args[1] == "try" {
		return o, false, nil
	}
	flags := map[string]*bool{"--no-petrock": &o.NoPetrock, "--no-net": &o.NoNet, "--no-exec": &o.NoExec}
	for i, arg := range args {
		name, value, hasValue := strings.Cut(arg, "=")
		switch flag := flags[name]; {
		case i == 0:
		case arg == "--":
			o.Args = args[i+1:]
			return o, true, nil
		case arg == "--help", arg == "-h":
			return o, false, nil
		case name == "--http":
			return o, false, terminal.Usagef("dev --http: only the installed petrock serves HTTP; install petrock, and run petrock dev --http ADDR")
		case flag == nil:
			return o, false, terminal.Usagef("unknown argument %s of dev; its flags are --no-petrock, --no-net and --no-exec; arguments of the server follow --", strconv.Quote(arg))
		case !hasValue:
			*flag = true
		default:
			if *flag, err = strconv.ParseBool(value); err != nil {
				return o, false, terminal.Usagef("invalid value of %s: %s; write true or false", name, strconv.Quote(value))
			}
		}
	}
	return o, true, nil
}

// ServeStdio runs petrock dev for the client that started this process. It reads from standard
// input and writes to out. It returns nil when the client closes the input, or on a signal. A
// second signal ends the process.
func ServeStdio(ctx context.Context, o live.Options, out *os.File) error {
	if terminal.IsTerminal(os.Stdin) {
		fmt.Fprintln(o.Log, "petrock dev runs the project's server, and replaces it after each change. It reads MCP messages from standard input: MCP clients start it. Press Ctrl-D to end it.")
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)
	// Writes to a client that is gone fail, and do not kill this process before it has ended its
	// children.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	supervisor, err := live.New(o)
	if err != nil {
		return err
	}
	err = supervisor.Serve(ctx, jsonrpc.NewLines(os.Stdin, out, jsonrpc.LinesOptions{MaxMessage: live.MaxMessage}))
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, supervisor.Close())
}
