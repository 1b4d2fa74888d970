// Package mcpcli has the commands that call an MCP server from a terminal: tools, call, resources, read,
// prompts and prompt. A server uses them to call itself, and petrock uses them to call any server: a
// [Target] chooses the server.
//
// [Finish] completes any command line: it adds help, completion and version, and makes commands refuse
// unknown arguments.
//
// Output is text on a terminal, and JSON otherwise or with --json. Control characters and invisible
// characters of a server are escaped, in JSON too. Files that a server sends are written only to the
// output folder.
//
// Exit codes are those of package terminal: 0 success, 1 failure, 2 usage error, 3 server not reached.
package mcpcli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

// An Env is the environment of the commands.
type Env struct {
	In      io.Reader          // standard input
	Out     *os.File           // standard output
	Err     io.Writer          // standard error
	Dir     string             // the working directory; empty if it was removed
	Program string             // the command that users type, for help texts
	Info    mcp.Implementation // the client's name and version

	// Target returns the target of a command. Each command has its own target, which holds the values
	// of its flags.
	Target func() Target

	// Many allows command lines to name a server: SERVER as the first argument, or a command after --.
	// Otherwise there is only one server.
	Many bool

	// About explains SERVER in help texts. Examples are further example lines by command. Both may be
	// empty.
	About    string
	Examples map[string][]string
}

// A Target chooses the server that a command calls.
type Target interface {
	// Flags adds the target's flags to cmd. common are the flags that all commands have.
	Flags(cmd *cobra.Command, common *Flags)

	// Find returns the server that a command line names, and the remaining arguments. dash is the
	// number of arguments before --, or -1 without --.
	Find(args []string, dash int, shape Shape) (*Server, []string, error)

	// Servers returns the possible values of SERVER, for completion.
	Servers() []string
}

// A Server is a server that a command calls.
type Server struct {
	Name string

	// Prepare asks the user for consent and input before Connect. It may be nil.
	Prepare func(ctx context.Context) error

	// Connect connects to the server. end closes the client and stops the server.
	Connect func(ctx context.Context, o client.Options) (c *client.Client, end func() error, err error)

	// Known returns lists for completion without connecting to the server, because completion must not
	// start programs. If Known is nil, completion connects, which is safe for a server in this process.
	Known func() Lists

	// Refuse returns an error for a tool that must not be called. If it is nil, all tools may be called.
	Refuse func(tool string) error
}

// Lists are the entries of a server's lists, as it sends them, by method, such as tools/list.
type Lists map[string][]json.RawMessage

func (s *Server) refuse(tool string) error {
	if s.Refuse == nil {
		return nil
	}
	return s.Refuse(tool)
}

// A Shape is the arguments that a command takes after the server.
type Shape int

// The shapes of command lines.
const (
	NoArgs   Shape = iota
	Name           // the name of a tool, resource or prompt
	NameArgs       // a name, and arguments
)

// Commands returns the commands tools, call, resources, read, prompts and prompt.
func Commands(env Env) []*cobra.Command {
	return []*cobra.Command{
		newTools(env),
		newCall(env),
		newResources(env),
		newRead(env),
		newPrompts(env),
		newPrompt(env),
	}
}

// Flags are the flags that all commands have.
type Flags struct {
	JSON, Text bool // not both
	Verbose    bool
	Timeout    time.Duration
}

// Add adds the flags to cmd.
func (f *Flags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.JSON, "json", false, "print JSON (default when stdout is not a terminal)")
	flags.BoolVar(&f.Text, "text", false, "print text (default when stdout is a terminal)")
	flags.BoolVar(&f.Verbose, "verbose", false, "show the server's log")
	// The default is long enough to compile the server.
	flags.DurationVar(&f.Timeout, "timeout", time.Minute, "time limit for the server to start, to answer, and between two progress reports")
	cmd.RegisterFlagCompletionFunc("timeout", cobra.NoFileCompletions)
}

// Check returns a usage error for invalid flags.
func (f *Flags) Check() error {
	if f.JSON && f.Text {
		return terminal.Usagef("--json and --text cannot be combined; pass one of them")
	}
	if f.Timeout <= 0 {
		return terminal.Usagef("--timeout must be more than 0, such as 30s")
	}
	return nil
}

// PrintsJSON reports whether to print JSON to out.
func (f *Flags) PrintsJSON(out *os.File) bool {
	return f.JSON || !f.Text && !terminal.IsTerminal(out)
}

// A command is the common part of all commands.
type command struct {
	Env
	flags  Flags
	target Target
	shape  Shape
	out    string // the folder for files
}

// newCommand completes cmd and makes it run do. The Use of cmd has the arguments after the server.
// suggest completes those arguments; it may be nil.
func newCommand(env Env, cmd *cobra.Command, shape Shape, suggest suggestion, do func(context.Context, *session, []string) error) *cobra.Command {
	c := &command{Env: env, target: env.Target(), shape: shape}
	name, rest, _ := strings.Cut(cmd.Use, " ")
	cmd.Use = strings.TrimSpace(name + " " + rest)
	if env.Many {
		cmd.Use = strings.ReplaceAll(name+" [SERVER] "+rest+" [-- COMMAND…]", "  ", " ")
	}
	if env.About != "" {
		cmd.Long += "\n\n" + env.About
	}
	cmd.Long += `

Exit codes: 0 success; 1 the server or the tool reports an error, or the command was interrupted;
2 usage error; 3 the server cannot be reached, or does not speak MCP.`
	firstExample, _, _ := strings.Cut(strings.TrimPrefix(cmd.Example, name+" "), " ")
	lines := append(strings.Split(cmd.Example, "\n"), env.Examples[name]...)
	cmd.Example = "  " + env.Program + " " + strings.Join(lines, "\n  "+env.Program+" ")
	cmd.Args = shape.Args(env.Many, firstExample)
	cmd.ValidArgsFunction = c.completer(suggest)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.run(cmd, args, do) }
	if shape != NoArgs {
		cmd.Flags().StringVar(&c.out, "out", ".", "folder for images, audio and other files")
		cmd.MarkFlagDirname("out")
	}
	c.flags.Add(cmd)
	c.target.Flags(cmd, &c.flags)
	return cmd
}

// A session is a running command, connected to a server.
type session struct {
	*client.Client
	server      *Server
	printer     *Printer
	progress    *terminal.Progress
	notTerminal string // the stream that must be a terminal to ask the user, but is not; or ""
}

// run connects to the server and calls do with the arguments after it. An interrupt cancels the request
// and stops the server.
func (c *command) run(cmd *cobra.Command, args []string, do func(context.Context, *session, []string) error) error {
	return Report(c.Env, &c.flags, func() error {
		if err := c.flags.Check(); err != nil {
			return err
		}
		server, rest, err := c.target.Find(args, cmd.ArgsLenAtDash(), c.shape)
		if err != nil {
			return err
		}
		ctx, stop := Interruptible(cmd.Context())
		defer stop()
		if server.Prepare != nil {
			if err := server.Prepare(ctx); err != nil {
				return err
			}
		}
		s := &session{server: server, printer: NewPrinter(c.Env, &c.flags), progress: terminal.NewProgress(c.Err, c.flags.Verbose)}
		if s.printer.dir = c.out; !filepath.IsAbs(c.out) {
			s.printer.dir = filepath.Join(c.Dir, c.out)
		}
		s.progress.Begin("connecting to " + terminal.Plain(server.Name))
		defer s.progress.End()
		options := client.Options{Info: c.Info, Timeout: c.flags.Timeout}
		switch a := NewAsker(c.Env, s.progress); {
		case a != nil:
			options.Elicit, options.OpenURL = a.form, a.visit
		case terminal.IsTerminal(c.In):
			s.notTerminal = "standard error"
		default:
			s.notTerminal = "standard input"
		}
		connected, end, err := server.Connect(ctx, options)
		if err != nil {
			return classify(ctx, err)
		}
		s.Client = connected
		s.progress.End()
		err = do(ctx, s, rest)
		s.progress.End()
		return errors.Join(classify(ctx, err), end())
	})
}

// Interruptible returns a context that SIGINT or SIGTERM cancels. A second signal ends the process.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// ErrInterrupted reports that the user interrupted a command.
var ErrInterrupted = errors.New("interrupted")

// classify wraps an error of a session, so that it has the right exit code.
func classify(ctx context.Context, err error) error {
	if _, usage := errors.AsType[*terminal.UsageError](err); err == nil || usage {
		return err
	}
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	if missing, ok := errors.AsType[*client.NotFoundError](err); ok {
		return terminal.Usagef("%w%s", err, Suggest(missing.Name, missing.Available))
	}
	if _, unreachable := errors.AsType[*client.ConnectionError](err); unreachable {
		return &terminal.UnreachableError{Err: err}
	}
	return err
}

// A Fault is the JSON that a failed command prints.
type Fault struct {
	OK      bool   `json:"ok"` // always false
	Message string `json:"error"`
	Status  int    `json:"status"` // the exit code
}

// Report calls do. If the output is JSON, it prints the error as JSON, unless do has printed it. It
// escapes the error with [terminal.Plain], because it may quote a server.
func Report(env Env, flags *Flags, do func() error) error {
	err := do()
	if err != nil && terminal.Plain(err.Error()) != err.Error() {
		err = &plainError{err}
	}
	if _, printed := errors.AsType[*terminal.ReportedError](err); err == nil || printed || !flags.PrintsJSON(env.Out) {
		return err
	}
	if printErr := terminal.PrintJSON(env.Out, Fault{Message: err.Error(), Status: terminal.ExitCode(err)}); printErr != nil {
		return errors.Join(err, printErr)
	}
	return &terminal.ReportedError{Err: err}
}

// A plainError is an error whose text is safe to print.
type plainError struct{ err error }

func (e *plainError) Error() string { return terminal.Plain(e.err.Error()) }

func (e *plainError) Unwrap() error { return e.err }
