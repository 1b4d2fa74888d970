package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/handover"
)

// projectCommand is the annotation of commands that work on a project.
const projectCommand = "petrock.project"

// markProject marks commands that work on a project, which an installed petrock hands over.
func markProject(commands ...*cobra.Command) []*cobra.Command {
	for _, cmd := range commands {
		cmd.Annotations = map[string]string{projectCommand: ""}
	}
	return commands
}

// handOver runs a command in the petrock that belongs to the project, and returns its exit code:
// an installed petrock hands commands on a project over to the project's petrock, and that hands
// the use of the project's own generators over to a program that has them. It does nothing with
// --no-exec, outside a project, or if PETROCK_HANDOVER=off is set. If the program does not build,
// it says so, and leaves the command to this process.
func handOver(ctx context.Context, root *cobra.Command, args []string, env Env) (status int, done bool) {
	to := findTarget(root, args, env)
	if to == nil {
		return 0, false
	}
	progress := terminal.NewProgress(env.Err, to.quiet)
	progress.Begin("building the project's petrock")
	executable, err := handover.Build(ctx, to.project.Root, to.program)
	progress.End()
	if err == nil {
		status, err = terminal.Exec(env.Out, executable, args...)
	}
	switch {
	case err == nil:
		return status, true
	case to.program == handover.Generators:
		fmt.Fprintf(env.Err, "petrock: the project's own generators do not build, and are left out: %v\n", err)
	default:
		fmt.Fprintf(env.Err, "petrock: the petrock of %s does not build, so the installed one runs this command: %v\n", to.project.Name, err)
	}
	return 0, false
}

// A target is the program that a command is handed over to.
type target struct {
	project *project.Project
	program string // its folder in the project
	quiet   bool   // show no progress
}

// findTarget returns the target of a command line; nil if this process is to run it. Flags that the
// root does not know are no error: the petrock that belongs to the project may know them. The root
// is of no use afterwards.
func findTarget(root *cobra.Command, args []string, env Env) *target {
	cmd, rest, err := root.Find(args)
	if err != nil || handover.IsDisabled() {
		return nil
	}
	cmd.InitDefaultHelpFlag()
	cmd.FParseErrWhitelist.UnknownFlags = true
	if err := cmd.ParseFlags(rest); err != nil {
		return nil // the command reports it
	}
	program := env.handsTo(cmd)
	if noExec, _ := cmd.Flags().GetBool("no-exec"); noExec || program == "" {
		return nil
	}
	dir, _ := cmd.Flags().GetString("dir")
	found, err := project.Find(Inside(env.Dir, dir))
	if err != nil || !handover.Exists(found.Root, program) {
		return nil
	}
	quiet, _ := cmd.Flags().GetBool("json")
	return &target{found, program, quiet}
}

// handsTo returns the program of the project that a command is for; empty if it is this one.
func (env Env) handsTo(cmd *cobra.Command) string {
	if env.Installed {
		for ; cmd != nil; cmd = cmd.Parent() {
			if _, ok := cmd.Annotations[projectCommand]; ok {
				return handover.Petrock
			}
		}
		return ""
	}
	// generate itself runs if the kind is missing, or none of petrock's. A plan may be of any kind.
	if len(env.Own) == 0 && (cmd.Name() == "generate" || cmd.Name() == "apply") {
		return handover.Generators
	}
	return ""
}
