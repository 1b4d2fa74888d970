// Package mcpcli has the commands that call an MCP server from a terminal: tools, call, resources,
// read, prompts and prompt. A server uses them to call itself, and petrock uses them to call any
// server: a [Target] chooses the server. It is plumbing for package serve and petrock's own
// commands; use it directly to add these commands to a cobra command line of your own.
//
// [Finish] completes any command line: it adds help, completion and version, and makes commands
// refuse unknown arguments.
//
// Output is text, and JSON with --json. On a terminal and in JSON, control characters and invisible
// characters of a server are escaped. Files that a server sends are written only to
// the output folder.
//
// Exit codes are those of package terminal: 0 success, 1 failure, 2 usage error, 3 server not
// reached.
package mcpcli

import (
	"context"
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
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// An Env is the environment of the commands.
type Env struct {
	In      io.Reader          // standard input
	Out     *os.File           // standard output
	Err     io.Writer          // standard error
	Dir     string             // the working directory; empty if it was removed
	Program string             // the command that users type, for help texts
	Info    mcp.Implementation // the client's name and version
	About   string             // how to choose the target, for help texts; may be empty

	// Target returns the target of a command. Each command has its own target, which holds the
	// values of its flags.
	Target func() Target
}

// A Target chooses the server that a command calls.
type Target interface {
	// Flags adds the target's flags to cmd. common are the flags that all commands have.
	Flags(cmd *cobra.Command, common *Flags)

	// Find returns the server that a command line names, and the remaining arguments. It may ask the
	// user for consent and input. dash is the number of arguments before --, or -1 without --.
	Find(ctx context.Context, args []string, dash int) (*Server, []string, error)
}

// A Server is a server that a command calls.
type Server struct {
	Name string

	// Connect connects to the server. end closes the client and stops the server.
	Connect func(ctx context.Context, o client.Options) (c *client.Client, end func() error, err error)

	// Refuse returns an error for a tool that must not be called. If it is nil, all tools may be
	// called.
	Refuse func(tool string) error
}

// Commands returns the commands tools, call, resources, read, prompts and prompt.
func Commands(env Env) []*cobra.Command {
	return []*cobra.Command{
		newListCommand(env, "tools", "List the tools",
			"List the tools with their arguments. Optional arguments are in brackets.", toolList),
		newCall(env),
		newListCommand(env, "resources", "List the resources",
			"List the resources and the resource templates. The URIs of templates have variables such as {id}.", resourceList, templateList),
		newRead(env),
		newListCommand(env, "prompts", "List the prompts",
			"List the prompts with their arguments. Optional arguments are in brackets.", promptList),
		newPrompt(env),
	}
}

// Flags are the flags that all commands have.
type Flags struct {
	JSON    bool
	Verbose bool
	Timeout time.Duration
}

// Add adds the flags to cmd.
func (f *Flags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.JSON, "json", false, "print JSON: the whole result, or the error")
	flags.BoolVar(&f.Verbose, "verbose", false, "show the server's log")
	// The default is long enough to compile the server.
	flags.DurationVar(&f.Timeout, "timeout", time.Minute, "time limit for the server to start, to answer, and between two progress reports")
	cmd.RegisterFlagCompletionFunc("timeout", cobra.NoFileCompletions)
}

// Check returns a usage error for invalid flags.
func (f *Flags) Check() error {
	if f.Timeout <= 0 {
		return terminal.Usagef("--timeout must be more than 0, such as 30s")
	}
	return nil
}

// A command is the common part of all commands.
type command struct {
	Env
	flags   Flags
	target  Target
	out     string // the folder for files
	answers []string
}

// newCommand completes cmd and makes it run do. args checks the arguments.
func newCommand(env Env, cmd *cobra.Command, args cobra.PositionalArgs, do func(context.Context, *session, []string) error) *cobra.Command {
	c := &command{Env: env, target: env.Target()}
	if env.About != "" {
		cmd.Long += "\n\n" + env.About
	}
	cmd.Long += `

Exit codes: 0 success; 1 if the server or the tool reports an error, or the command was interrupted;
2 usage error, or arguments that the tool does not accept; 3 the server cannot be reached, refuses
the client, or does not speak MCP.`
	cmd.Example = "  " + env.Program + " " + strings.ReplaceAll(cmd.Example, "\n", "\n  "+env.Program+" ")
	cmd.Args, cmd.ValidArgsFunction = args, c.complete
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.run(cmd, args, do) }
	if cmd.Name() != cmd.Use { // it takes arguments, and may get files
		cmd.Flags().StringVar(&c.out, "out", ".", "folder for images, audio and other files")
		cmd.MarkFlagDirname("out")
		cmd.Flags().StringArrayVar(&c.answers, "answer", nil, "answer a question: FIELD=VALUE or, if several questions have the field, KEY.FIELD=VALUE; KEY=accept, decline or cancel")
	}
	c.flags.Add(cmd)
	c.target.Flags(cmd, &c.flags)
	return cmd
}

// A session is a running command, connected to a server.
type session struct {
	*client.Client
	server   *Server
	printer  *Printer
	progress *terminal.Progress
	answers  *answers
}

// run connects to the server and calls do with the arguments after it. An interrupt cancels the
// request and stops the server.
func (c *command) run(cmd *cobra.Command, args []string, do func(context.Context, *session, []string) error) error {
	return Report(c.Env, &c.flags, func() error {
		if err := c.flags.Check(); err != nil {
			return err
		}
		ctx, stop := Interruptible(cmd.Context())
		defer stop()
		server, rest, err := c.target.Find(ctx, args, cmd.ArgsLenAtDash())
		if err != nil {
			return err
		}
		if server.Refuse == nil {
			server.Refuse = func(string) error { return nil }
		}
		s := &session{server: server, printer: NewPrinter(c.Env, &c.flags), progress: &terminal.Progress{Out: c.Err, Quiet: c.flags.Verbose}}
		if s.printer.dir = c.out; !filepath.IsAbs(c.out) {
			s.printer.dir = filepath.Join(c.Dir, c.out)
		}
		s.progress.Begin("connecting to " + terminal.Plain(server.Name))
		defer s.progress.End()
		options := client.Options{Info: c.Info, Timeout: c.flags.Timeout}
		s.answers = &answers{asker: NewAsker(c.Env, s.progress), flags: c.answers}
		options.Elicit, options.OpenURL = s.answers.form, s.answers.visit
		connected, end, err := server.Connect(ctx, options)
		if err != nil {
			return classify(ctx, err)
		}
		s.Client = connected
		s.progress.End()
		err = do(ctx, s, rest)
		if missing, ok := errors.AsType[*client.NotFoundError](err); ok {
			missing.Hint = "list them with " + c.Program + " " + missing.Kind + "s"
		}
		s.progress.End()
		return errors.Join(classify(ctx, err), endWithin(ctx, end))
	})
}

// endWithin calls end. If ctx has ended, it does not wait for calls that ignore their cancellation.
func endWithin(ctx context.Context, end func() error) error {
	if ctx.Err() == nil {
		return end()
	}
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(900 * time.Millisecond):
		return nil
	}
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
	if _, missing := errors.AsType[*client.NotFoundError](err); missing {
		return &terminal.UsageError{Err: err}
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

// Report calls do. With --json, it prints the error as JSON only, unless do has printed it.
func Report(env Env, flags *Flags, do func() error) error {
	err := do()
	_, reported := errors.AsType[*terminal.ReportedError](err)
	_, printed := errors.AsType[*terminal.PrintedError](err)
	if err == nil || reported || printed || !flags.JSON {
		return err
	}
	if terminal.PrintJSON(env.Out, Fault{Message: err.Error(), Status: terminal.ExitCode(err)}) != nil {
		return err
	}
	return &terminal.PrintedError{Err: err}
}
