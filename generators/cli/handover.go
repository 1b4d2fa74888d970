package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/handover"
)

// projectCommand is the cobra annotation of commands that work on a project.
const projectCommand = "petrock.project"

// programVariable passes [Env.Program] on to the program that a command is handed over to.
const programVariable = "PETROCK_PROGRAM"

// markProject annotates commands that work on a project. The installed petrock hands them over unless
// --no-exec is given.
func markProject(commands ...*cobra.Command) []*cobra.Command {
	for _, cmd := range commands {
		cmd.Annotations = map[string]string{projectCommand: ""}
	}
	return commands
}

// forbidsExec reports whether arg is --no-exec, unless it is set to false, or a likely misspelling
// such as --noexec or —no-exec. findTarget obeys it anywhere on the command line.
func forbidsExec(arg string) bool {
	if value, ok := strings.CutPrefix(arg, "--no-exec="); ok {
		yes, err := strconv.ParseBool(value)
		return yes || err != nil
	}
	return regexp.MustCompile(`(?i)^[\p{Pd}\x{2212}]+no[^a-z]?exe`).MatchString(arg)
}

// handOver runs a command in the program that [handover.Operation] names, and returns its exit code.
// The installed petrock hands commands on a project over to the project's own petrock. That hands
// commands that need the project's own generators over to a program that links them in. If the program
// is unavailable, handOver prints why, and returns done == false.
func handOver(ctx context.Context, root *cobra.Command, args []string, env Env) (status int, done bool) {
	to, err := findTarget(root, args, env)
	if err != nil {
		return reportError(&terminal.UsageError{Err: err}, root.Name(), root.Name(), false, false, env), true
	}
	if to == nil {
		return 0, false
	}
	name, fallback := "the petrock of "+to.project.Name, "the installed petrock runs this command"
	if to.program == handover.Generators {
		name, fallback = "the generators of "+to.project.Name, "this command runs without them"
	}
	progress := &terminal.Progress{Out: env.Err, Quiet: to.quiet}
	progress.Begin("building the project's petrock")
	executable, err := handover.Build(ctx, to.project.Root, to.program)
	progress.End()
	if err != nil {
		printNotice(env, "%s cannot be built, so %s: %v", name, fallback, err)
		return 0, false
	}
	os.Setenv(programVariable, env.Program)
	defer os.Unsetenv(programVariable)
	if status, err = terminal.Exec(env.Out, executable, args...); err != nil {
		printNotice(env, "%s cannot be run, so %s: %v", name, fallback, err)
		return 0, false
	}
	return status, true
}

func printNotice(env Env, format string, args ...any) {
	fmt.Fprintf(env.Err, "petrock: %s\n", terminal.Plain(fmt.Sprintf(format, args...)))
}

// A target is the program that a command is handed over to.
type target struct {
	project *project.Project
	program string // its folder in the project
	quiet   bool   // show no progress
}

// findTarget returns the target of a command line, or nil if this process runs it. It ignores unknown
// flags, because the project's own petrock may know them. It changes root, which must not be executed
// afterwards.
func findTarget(root *cobra.Command, args []string, env Env) (*target, error) {
	cmd, rest, err := root.Find(args)
	if err != nil || !worksOnProject(cmd) {
		return nil, nil
	}
	cmd.InitDefaultHelpFlag()
	cmd.FParseErrWhitelist.UnknownFlags = true
	if err := cmd.ParseFlags(rest); err != nil {
		return nil, nil // the command reports it
	}
	dir, _ := cmd.Flags().GetString("dir")
	found, err := project.Find(joinDir(env.Dir, dir))
	if err != nil {
		return nil, nil
	}
	// The command is generate, and not one of its subcommands, if petrock has no such generator. A plan
	// may come from any generator.
	anyKind := cmd.Name() == "generate" || cmd.Name() == "apply"
	noExec := slices.ContainsFunc(args, forbidsExec)
	operation := handover.Operation{Root: found.Root, IsCurrent: !env.Installed, NeedsOwn: anyKind && len(env.Own) == 0, NoExec: noExec}
	program, err := operation.Program()
	if unavailable, ok := errors.AsType[*handover.UnavailableError](err); ok {
		if found.Petrock != generators.Version {
			printNotice(env, "%s has petrock %s, but petrock %s runs this command: %v", found.Name, found.Petrock, generators.Version, unavailable)
		}
		return nil, nil
	}
	if http := cmd.Flags().Lookup("http"); program == "" || program == handover.Petrock && http != nil && http.Changed {
		return nil, err // only the installed petrock serves HTTP
	}
	quiet, _ := cmd.Flags().GetBool("json")
	return &target{found, program, quiet}, nil
}

// worksOnProject reports whether a command, or one above it, is marked by markProject.
func worksOnProject(cmd *cobra.Command) bool {
	for ; cmd != nil; cmd = cmd.Parent() {
		if _, ok := cmd.Annotations[projectCommand]; ok {
			return true
		}
	}
	return false
}

// newCalls returns the commands that call the project's server. The server itself has them: petrock
// builds it, and runs it with the same arguments.
func newCalls(env Env) (all []*cobra.Command) {
	for _, command := range [][2]string{
		{"tools", "List the tools"}, {"call", "Call a tool"}, {"resources", "List the resources"},
		{"read", "Read a resource"}, {"prompts", "List the prompts"}, {"prompt", "Get a prompt"},
	} {
		all = append(all, &cobra.Command{
			Use:                command[0],
			Short:              command[1],
			Args:               cobra.ArbitraryArgs,
			DisableFlagParsing: true,
			RunE: func(cmd *cobra.Command, args []string) error {
				found, err := project.Find(env.Dir)
				if err != nil {
					return err
				}
				progress := &terminal.Progress{Out: env.Err}
				progress.Begin("building the server")
				executable, err := handover.Build(cmd.Context(), found.Root, "cmd/"+found.Name)
				progress.End()
				if err != nil {
					return err
				}
				status, err := terminal.Exec(env.Out, executable, append([]string{cmd.Name()}, args...)...)
				if err == nil && status != 0 {
					err = fmt.Errorf("%s: exit code %d", cmd.Name(), status)
				}
				return err
			},
		})
	}
	return all
}
