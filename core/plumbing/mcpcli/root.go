package mcpcli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/plumbing/terminal"
)

// AddGroup adds commands to root under a heading in its help.
func AddGroup(root *cobra.Command, heading string, commands ...*cobra.Command) {
	if !root.ContainsGroup(heading) {
		root.AddGroup(&cobra.Group{ID: heading, Title: heading})
	}
	for _, cmd := range commands {
		cmd.GroupID = heading
		root.AddCommand(cmd)
	}
}

// Finish completes a command line. Call it after all commands are added and the output of root is
// set. It adds the commands help, completion and version, and the flags --version and --no-color.
// It makes commands refuse unknown subcommands and arguments, for which cobra prints help and
// succeeds, and wraps their help. Commands without Args take no arguments. Errors for unknown
// commands suggest similar ones.
func Finish(root *cobra.Command, version string) {
	root.AddCommand(&cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version of " + root.Name() + " and of Go, like --version.",
		Example: "  " + root.CommandPath() + " version",
		RunE:    func(cmd *cobra.Command, _ []string) error { return printLine(cmd, version) },
	})
	root.SetFlagErrorFunc(FlagError)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	finish(root)

	wanted := root.Flags().Bool("version", false, "print the version")
	run := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *wanted {
			return printLine(cmd, version)
		}
		return run(cmd, args)
	}
	root.PersistentFlags().BoolFunc("no-color", "print without colors (also if NO_COLOR is set)", func(text string) error {
		on, err := strconv.ParseBool(text)
		if on {
			err = os.Setenv("NO_COLOR", "1") // and for the programs that a command starts
		}
		return err
	})
}

// FlagError returns the error of a command line with a wrong flag. For an unknown flag, it suggests
// a similar one.
func FlagError(cmd *cobra.Command, err error) error {
	type unknownFlag interface {
		error
		GetSpecifiedName() string
	}
	unknown, ok := errors.AsType[unknownFlag](err)
	if !ok || cmd.Flags().Lookup(unknown.GetSpecifiedName()) != nil {
		return err
	}
	var names []string
	for line := range strings.Lines(cmd.Flags().FlagUsages()) { // a flag each
		_, name, _ := strings.Cut(line, "--")
		names = append(names, "--"+strings.Fields(name)[0])
	}
	return fmt.Errorf("%w%s", err, terminal.Suggest("--"+unknown.GetSpecifiedName(), names))
}

// Execute runs a command line that [Finish] has completed, for [PrintError]. Errors that cobra
// finds before a command starts are usage errors.
func Execute(ctx context.Context, root *cobra.Command, args []string) (*cobra.Command, error) {
	root.SilenceErrors, root.SilenceUsage = true, true
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !started {
		err = &terminal.UsageError{Err: err}
	}
	return cmd, err
}

// PrintError prints the error of a command, and returns the exit code. It escapes the error with
// [terminal.Plain], because it may quote a server. An error without text is not printed. A reader
// of the output that ends early, such as head, is no error.
func PrintError(cmd *cobra.Command, err error) int {
	status := terminal.ExitCode(err)
	file, _ := cmd.OutOrStdout().(*os.File)
	if e, ok := errors.AsType[*fs.PathError](err); ok && file != nil && e.Path == file.Name() && e.Err == syscall.EPIPE {
		return terminal.ExitSuccess
	}
	if err == nil || err.Error() == "" {
		return status
	}
	out := cmd.ErrOrStderr()
	fmt.Fprintf(out, "%s %s\n", terminal.Red.On(out, cmd.Root().Name()+":"), terminal.Plain(err.Error()))
	if status == terminal.ExitUsage {
		fmt.Fprintf(out, "Run '%s --help' for usage.\n", cmd.CommandPath())
	}
	return status
}

func printLine(cmd *cobra.Command, text string) error {
	_, err := fmt.Fprintln(cmd.OutOrStdout(), text)
	return err
}

var helpLine, indented = regexp.MustCompile(`(.{1,100})( |$)`), regexp.MustCompile(`(?m)^[ \t]`)

func finish(cmd *cobra.Command) {
	paragraphs := strings.Split(cmd.Long, "\n\n")
	for i, p := range paragraphs {
		if !indented.MatchString(p) { // not a list or code
			paragraphs[i] = strings.TrimSpace(helpLine.ReplaceAllString(strings.Join(strings.Fields(p), " "), "$1\n"))
		}
	}
	cmd.Long = strings.Join(paragraphs, "\n\n")
	for _, sub := range cmd.Commands() {
		finish(sub)
		switch {
		case !cmd.HasParent() && sub.Name() == "help":
			sub.Args = checkTopic
		case sub.Name() == "completion", cmd.Name() == "completion":
			sub.Args = noArgs
		}
	}
	if cmd.Args == nil {
		cmd.Args = noArgs
	}
	if !cmd.Runnable() {
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

func checkTopic(help *cobra.Command, args []string) error {
	found, rest, err := help.Root().Find(args)
	if err != nil || len(rest) == 0 {
		return err
	}
	return unknownCommand(found, rest[0])
}

// noArgs refuses arguments, and unknown subcommands.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasSubCommands():
		return unknownCommand(cmd, args[0])
	}
	return unexpectedArgument(cmd, args[0])
}

// unknownCommand returns an error for an unknown subcommand of cmd. It suggests similar ones.
func unknownCommand(cmd *cobra.Command, word string) error {
	hint := ""
	cmd.SuggestionsMinimumDistance = 2
	if similar := cmd.SuggestionsFor(word); len(similar) > 0 {
		hint = "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return terminal.Usagef("unknown command %q for %q%s", word, cmd.CommandPath(), hint)
}

// ExactArgs returns a check that a command gets all arguments of its usage line, and no others. The
// error for a missing argument shows the examples, one for each argument.
func ExactArgs(examples ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > len(examples) {
			return unexpectedArgument(cmd, args[len(examples)])
		}
		return MinimumArgs(examples...)(cmd, args)
	}
}

// MinimumArgs is [ExactArgs] for a command that takes more arguments.
func MinimumArgs(examples ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= len(examples) {
			return nil
		}
		needed := strings.Fields(cmd.Use)[1 : 1+len(examples)]
		path := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().CommandPath()+" ")
		return terminal.Usagef("%s needs %s, such as %s", path, strings.Join(needed, " and "), strings.Join(examples, " "))
	}
}

func unexpectedArgument(cmd *cobra.Command, arg string) error {
	return terminal.Usagef("unexpected argument %q: usage: %s", arg, cmd.Use)
}
