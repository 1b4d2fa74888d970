package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/handover"
	"github.com/petrock/petrock/generators/launch"
	"github.com/petrock/petrock/generators/linked"
)

// programVariable passes [Env].Program on to the program that a command is handed over to.
const programVariable = "PETROCK_PROGRAM"

// needsOwn is the cobra annotation of commands that may use the project's own generators.
const needsOwn = "petrock.own"

// projectCommands completes commands on a project, and their subcommands. Their help and examples
// are the section of help.txt with their name, unless they have their own. They run in the program
// that [handover.Operation] names: the installed petrock hands them over to the project's own
// petrock, which hands those that need the project's own generators over to a program that links
// them in. This happens only after cobra has accepted the whole command line, so a misspelt
// --no-exec is a usage error before any code of the project runs.
func projectCommands(env Env, commands ...*cobra.Command) []*cobra.Command {
	for _, cmd := range commands {
		projectCommands(env, cmd.Commands()...)
		cmd.Long = cmp.Or(cmd.Long, longHelp(cmd.Name()))
		cmd.Example = cmp.Or(cmd.Example, examples(env, cmd.Name()))
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if done, err := handOver(cmd, env); done || err != nil {
				return err
			}
			return run(cmd, args)
		}
		cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
			if isSet, _ := cmd.Flags().GetBool("help"); isSet { // not help COMMAND
				if done, _ := handOver(cmd, env); done {
					return
				}
			}
			cmd.Root().HelpFunc()(cmd, args)
		})
	}
	return commands
}

// handOver runs a command in the program that it belongs to. The error is an [exitError] with its
// exit code. If this process must run the command, handOver returns false; if that is because the
// program is unavailable, it prints why.
func handOver(cmd *cobra.Command, env Env) (done bool, err error) {
	found, program, err := findTarget(cmd, env)
	if program == "" || err != nil {
		return false, err
	}
	name, fallback := "the petrock of "+found.Name, "the installed petrock runs this command"
	if program == handover.Generators {
		name, fallback = "the generators of "+found.Name, "this command runs without them"
	}
	quiet, _ := cmd.Flags().GetBool("json")
	os.Setenv(programVariable, env.Program)
	defer os.Unsetenv(programVariable)
	err = runProgram(cmd.Context(), env, "building the project's petrock", found.Root, program, quiet, env.args...)
	if _, done := err.(exitError); done || cmd.Context().Err() != nil {
		return done, err
	}
	printNotice(env, "%s cannot be run, so %s: %v", name, fallback, err)
	return false, nil
}

// runProgram builds and runs a program of the project. It shows the progress of the build, unless
// quiet is set. The error is an [exitError] if the program was run.
func runProgram(ctx context.Context, env Env, step, root, program string, quiet bool, args ...string) error {
	build := engine.BuildPetrock
	if program != handover.Petrock && program != handover.Generators {
		build = func(ctx context.Context, root, program string) (string, error) {
			return handover.Build(ctx, root, program, nil)
		}
	}
	progress := &terminal.Progress{Out: env.Err, Quiet: quiet}
	progress.Begin(step)
	executable, err := build(ctx, root, program)
	progress.End()
	if err != nil && ctx.Err() != nil {
		return mcpcli.ErrInterrupted
	}
	if err != nil {
		return err
	}
	status, err := terminal.Exec(env.Out, executable, args...)
	if err != nil {
		return err
	}
	return exitError(status)
}

func printNotice(env Env, format string, args ...any) {
	fmt.Fprintf(env.Err, "petrock: %s\n", terminal.Plain(fmt.Sprintf(format, args...)))
}

// An exitError is the exit code, which may be 0, of a program that a command was handed over to.
// The program has printed its errors.
type exitError int

func (e exitError) Error() string   { return "" }
func (e exitError) ExitStatus() int { return int(e) }

// findTarget returns the project of a command whose flags are parsed, and its program that must run
// the command, or "" if this process runs it.
func findTarget(cmd *cobra.Command, env Env) (found *project.Project, program string, err error) {
	flags := cmd.Flags()
	dir, _ := flags.GetString("dir")
	found, err = project.Find(joinDir(env.Dir, dir))
	if err != nil {
		return nil, "", nil // the command reports it
	}
	_, own := cmd.Annotations[needsOwn]
	noExec, _ := flags.GetBool("no-exec")
	mayAddFeature := engine.NeedsFeatures(cmd.Name()) || cmd.Name() == "apply"
	lacks := linked.Purity() == nil && mayAddFeature // the project has no feature yet
	operation := handover.Operation{Root: found.Root, IsCurrent: !env.Installed && !lacks, NeedsOwn: own && len(env.Own) == 0, NoExec: noExec}
	program, err = operation.Program()
	unavailable, ok := errors.AsType[*handover.UnavailableError](err)
	switch {
	case ok && found.Petrock != generators.Version:
		printNotice(env, "%s has petrock %s, but petrock %s runs this command: %v", found.Name, found.Petrock, generators.Version, unavailable)
		return found, "", nil
	case ok, program == handover.Petrock && flags.Changed("http"): // only the installed petrock serves HTTP
		return found, "", nil
	case err != nil:
		return found, "", &terminal.UsageError{Err: err}
	}
	return found, program, nil
}

// addOwnGenerators adds the project's own generators to the command generate, if the command line
// names a generator that this petrock does not have, with flags. It reads the generators' flags
// from their source, without running any code of the project, so that unknown flags are usage
// errors.
func addOwnGenerators(ctx context.Context, root *cobra.Command, env Env) {
	generate, args, err := root.Find(env.args)
	if err != nil || generate.Name() != "generate" || !slices.ContainsFunc(args, isFlag) {
		return
	}
	var c projectFlags
	parser := &cobra.Command{FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}}
	c.addFlags(parser, true)
	if err := parser.ParseFlags(args); err != nil || parser.Flags().NArg() == 0 {
		return // the command reports it
	}
	e, err := c.open(env)
	if err != nil {
		return // the command reports it
	}
	defer e.Close()
	own, problems, err := e.OwnGenerators(ctx)
	if err != nil || len(problems) > 0 {
		printNotice(env, "cannot read the project's own generators: %v", cmp.Or(err, fmt.Errorf("%v", problems)))
		return
	}
	for _, g := range own {
		cmd := newGenerator(env, g)
		cmd.Annotations = map[string]string{needsOwn: ""}
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return unknownGenerator(cmd, g.Name, env) }
		generate.AddCommand(projectCommands(env, cmd)...)
	}
}

func isFlag(arg string) bool { return strings.HasPrefix(arg, "-") }

// explainFlagError adds to the error for an unknown flag that the project's own petrock, which has
// another version, may have the flag.
func explainFlagError(cmd *cobra.Command, err error, env Env) error {
	err = mcpcli.FlagError(cmd, err)
	found, notFound := project.Find(env.Dir)
	if !env.Installed || notFound != nil || found.Petrock == generators.Version || cmd.Flags().Lookup("no-exec") == nil {
		return err
	}
	return fmt.Errorf("%w; this is petrock %s, and %s has petrock %s: to run that, use go run ./cmd/petrock %s", err, generators.Version, found.Name, found.Petrock, cmd.Name())
}

// newCalls returns the commands that call the project's server.
func newCalls(env Env) (all []*cobra.Command) {
	for _, command := range [][2]string{
		{"tools", "List the tools"}, {"call", "Call a tool"}, {"resources", "List the resources"},
		{"read", "Read a resource"}, {"prompts", "List the prompts"}, {"prompt", "Get a prompt"},
	} {
		all = append(all, newServerCommand(env, command[0], command[1]))
	}
	return all
}

// newServerCommand returns a command that the project's server has: petrock builds the server, and
// runs it with the same arguments.
func newServerCommand(env Env, use, short string) *cobra.Command {
	return &cobra.Command{
		Use:                use,
		Short:              short,
		Args:               cobra.ArbitraryArgs,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := launch.FindProject(env.Dir)
			if err != nil {
				return err
			}
			return runProgram(cmd.Context(), env, "building the server", found.Root, "cmd/"+found.Name, false, append([]string{cmd.Name()}, args...)...)
		},
	}
}
