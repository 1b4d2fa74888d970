package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/handover"
)

// projectCommand is the annotation of commands that work on a project.
const projectCommand = "petrock.project"

// markProject marks commands that work on a project, which an installed petrock hands over unless
// --no-exec is given.
func markProject(commands ...*cobra.Command) []*cobra.Command {
	for _, cmd := range commands {
		cmd.Annotations = map[string]string{projectCommand: ""}
		if cmd.Flags().Lookup("no-exec") == nil {
			cmd.Flags().Bool("no-exec", false, "run no code of the project, its own petrock included")
		}
	}
	return commands
}

// forbidsExec reports whether an argument is --no-exec, and does not say false, or a misspelling of
// it, such as --noexec or one with a long dash. It need not be a flag of the command, or stand where
// flags do: its author wants no code run.
func forbidsExec(arg string) bool {
	first, _ := utf8.DecodeRuneInString(arg)
	name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if yes, err := strconv.ParseBool(value); name == "no-exec" && err == nil && !yes {
		return false
	}
	letters := strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, arg)
	return (unicode.Is(unicode.Pd, first) || first == '\u2212') && strings.HasPrefix(letters, "noexe")
}

// handOver runs a command in the program that [handover.Operation] names, and returns its exit
// code: an installed petrock hands commands on a project over to the project's petrock, and that
// hands the use of the project's own generators over to a program that has them. If that program is
// unavailable, handOver says why, and leaves the command to this process.
func handOver(ctx context.Context, root *cobra.Command, args []string, env Env) (status int, done bool) {
	to, err := findTarget(root, args, env)
	if err != nil {
		return end(&terminal.UsageError{Err: err}, root.Name(), root.Name(), false, env), true
	}
	if to == nil {
		return 0, false
	}
	what, otherwise := "the petrock of "+to.project.Name, "so the installed one runs this command"
	if to.program == handover.Generators {
		what, otherwise = "the generators of "+to.project.Name, "so they are left out"
	}
	progress := terminal.NewProgress(env.Err, to.quiet)
	progress.Begin("building the project's petrock")
	executable, err := handover.Build(ctx, to.project.Root, to.program)
	progress.End()
	if err != nil {
		notice(env, "%s cannot be built, %s: %v", what, otherwise, err)
		return 0, false
	}
	if status, err = terminal.Exec(env.Out, executable, args...); err != nil {
		notice(env, "%s cannot be run, %s: %v", what, otherwise, err)
		return 0, false
	}
	return status, true
}

// notice prints a line about a project, which it may quote.
func notice(env Env, format string, args ...any) {
	fmt.Fprintf(env.Err, "petrock: %s\n", terminal.Plain(fmt.Sprintf(format, args...)))
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
	// generate itself runs if the kind is missing, or none of petrock's. A plan may be of any kind.
	anyKind := cmd.Name() == "generate" || cmd.Name() == "apply"
	noExec := slices.ContainsFunc(args, forbidsExec)
	operation := handover.Operation{Root: found.Root, IsCurrent: !env.Installed, NeedsOwn: anyKind && len(env.Own) == 0, NoExec: noExec}
	program, err := operation.Program()
	if unavailable, ok := errors.AsType[*handover.UnavailableError](err); ok {
		if found.Petrock != generators.Version {
			notice(env, "%s has petrock %s, and petrock %s runs this command: %v", found.Name, found.Petrock, generators.Version, unavailable)
		}
		return nil, nil
	}
	if program == "" {
		return nil, err
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
