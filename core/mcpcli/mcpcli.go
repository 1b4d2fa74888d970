// Package mcpcli makes the commands that call an MCP server from a terminal: tools, call,
// resources, read, prompts and prompt. A server uses them to call itself, and petrock uses them to
// call any server: a [Target] says which.
//
// [Strict] makes any command line refuse unknown commands and arguments.
//
// Output is text on a terminal, and JSON anywhere else or with --json. Control characters and
// invisible characters of a server never reach the terminal: they are escaped, in JSON too. Files
// that a server sends are never written outside the output folder.
//
// The exit codes are those of package terminal: 0 success, 1 failure, 2 usage error, 3 server not
// reached.
package mcpcli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

// An Env is the world around the commands.
type Env struct {
	In      io.Reader          // standard input
	Out     *os.File           // standard output
	Err     io.Writer          // standard error
	Dir     string             // the working directory; empty if it was removed
	Program string             // how the program is called in a terminal, for help texts
	Info    mcp.Implementation // the client's name and version

	// Target returns the target of one command. Each command has its own, because a target holds
	// the values of its flags.
	Target func() Target

	// Many says that command lines may name a server: SERVER as the first word, or a command after
	// --. Without it there is one server.
	Many bool

	// About is a paragraph on SERVER for help texts, and Examples are further example lines, by
	// command. Both may be empty.
	About    string
	Examples map[string][]string
}

// A Target decides which server a command calls.
type Target interface {
	// Flags adds the target's flags to cmd. common are the values of the flags that all commands have.
	Flags(cmd *cobra.Command, common *Flags)

	// Find returns the server that the words of a command line mean, and the words that remain.
	// dash is the number of words before --, or -1 without --.
	Find(words []string, dash int, shape Shape) (*Server, []string, error)

	// Servers lists the names that SERVER may be, for completion.
	Servers() []string
}

// A Server is one that a command calls.
type Server struct {
	Name string

	// Prepare asks the user what must be asked before the server is connected to. nil asks nothing.
	Prepare func(ctx context.Context) error

	// Connect connects to it. A nil error comes with a client and with a function that ends both.
	Connect func(ctx context.Context, o client.Options) (c *client.Client, end func() error, err error)

	// Known returns what is known of the server without connecting to it, for completion, which
	// never starts a program. A nil Known lets completion connect, to a server of this process.
	Known func() Lists

	// Refuse says why a tool must not be called, or returns nil. A nil Refuse allows all tools.
	Refuse func(tool string) error
}

// Lists are the entries that a server lists, as it sends them, by method, such as tools/list.
type Lists map[string][]json.RawMessage

func (s *Server) refuse(tool string) error {
	if s.Refuse == nil {
		return nil
	}
	return s.Refuse(tool)
}

// A Shape says which words a command takes after the server.
type Shape int

// The shapes of command lines.
const (
	NoWords   Shape = iota
	Name            // the name of one thing
	NameWords       // a name, and arguments
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

// Flags are the values of the flags that all commands have.
type Flags struct {
	JSON, Text bool // at most one of them
	Verbose    bool
	Timeout    time.Duration
}

// Add adds the flags to cmd.
func (f *Flags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.JSON, "json", false, "print JSON (default when stdout is not a terminal)")
	flags.BoolVar(&f.Text, "text", false, "print text (default when stdout is a terminal)")
	flags.BoolVar(&f.Verbose, "verbose", false, "show the server's log")
	// The default allows for a server that is compiled first.
	flags.DurationVar(&f.Timeout, "timeout", time.Minute, "time limit for the server to start, to answer, and between two progress reports")
	cmd.RegisterFlagCompletionFunc("timeout", cobra.NoFileCompletions)
}

// Check returns a usage error for flags that do not fit together.
func (f *Flags) Check() error {
	if f.JSON && f.Text {
		return terminal.Usagef("--json and --text exclude each other; leave one of them out")
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

// A command is what the commands share while they are made and run.
type command struct {
	Env
	flags  Flags
	target Target
	shape  Shape
}

// newCommand completes cmd, whose Use has the words after the server, and makes it run do. suggest
// completes those words; nil suggests none.
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

Exit codes: 0 success; 1 the server or the tool reports a failure, or the command was interrupted; 2 usage error;
3 the server was not reached, or did not answer in MCP.`
	var lines []string
	for line := range strings.SplitSeq(cmd.Example, "\n") {
		if line != "" {
			lines = append(lines, "  "+env.Program+" "+line)
		}
	}
	for _, line := range env.Examples[name] {
		lines = append(lines, "  "+env.Program+" "+line)
	}
	cmd.Example = strings.Join(lines, "\n")
	cmd.Args = shape.Args(env.Many)
	cmd.ValidArgsFunction = c.completer(suggest)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.run(cmd, args, do) }
	c.flags.Add(cmd)
	c.target.Flags(cmd, &c.flags)
	return cmd
}

// A session is a command that is connected to a server.
type session struct {
	*client.Client
	server   *Server
	printer  *Printer
	progress *terminal.Progress
	stdio    string // the stream that cannot be used to ask the user; empty if both can
}

// run connects to the server that a command line means and calls do with the remaining words. An
// interrupt cancels the request and ends the server in an orderly way.
func (c *command) run(cmd *cobra.Command, args []string, do func(context.Context, *session, []string) error) error {
	return Report(c.Env, &c.flags, func() error {
		if err := c.flags.Check(); err != nil {
			return err
		}
		server, words, err := c.target.Find(args, cmd.ArgsLenAtDash(), c.shape)
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
		s.progress.Begin("connecting to " + terminal.Plain(server.Name))
		defer s.progress.End()
		options := client.Options{Info: c.Info, Timeout: c.flags.Timeout}
		switch a := NewAsker(c.Env, s.progress); {
		case a != nil:
			options.Elicit, options.OpenURL = a.form, a.visit
		case terminal.IsTerminal(c.In):
			s.stdio = "standard error"
		default:
			s.stdio = "standard input"
		}
		connected, end, err := server.Connect(ctx, options)
		if err != nil {
			return exitStatus(ctx, err)
		}
		s.Client = connected
		s.progress.End()
		err = do(ctx, s, words)
		s.progress.End()
		return errors.Join(exitStatus(ctx, err), end())
	})
}

// Interruptible returns a context that an interrupt or SIGTERM cancels. A second signal ends the
// process.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// ErrInterrupted says that the user interrupted a command.
var ErrInterrupted = errors.New("interrupted")

func exitStatus(ctx context.Context, err error) error {
	if _, usage := errors.AsType[*terminal.UsageError](err); err == nil || usage {
		return err
	}
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	if _, unknown := errors.AsType[*client.NotFoundError](err); unknown {
		return &terminal.UsageError{Err: err}
	}
	if _, unreached := errors.AsType[*client.ConnectionError](err); unreached {
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

// Report calls do, and prints its error as JSON if JSON is printed and the error has not been
// printed. The error is shown as by [terminal.Plain], because it may quote a server.
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
