package mcpcli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Strict makes a command line refuse what it does not know, where cobra would print help and succeed.
// Commands without Args take no arguments. It adds cobra's commands help and completion, which print
// to the output that root has then.
func Strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if err.Error() == "unknown flag: --version" {
			return fmt.Errorf("%w; run %s version", err, root.Name())
		}
		return err
	})
	refuseUnknown(root)
}

func refuseUnknown(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		refuseUnknown(sub)
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
	if found, rest, err := help.Root().Find(args); err != nil || found == nil || len(rest) > 0 {
		return fmt.Errorf("there is no command %q to help with", strings.Join(args, " "))
	}
	return nil
}

// noArgs refuses arguments, and commands that the parent of others does not have.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasSubCommands() {
		return unexpectedArgument(cmd, args[0])
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		text += "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return errors.New(text)
}

func unexpectedArgument(cmd *cobra.Command, arg string) error {
	return fmt.Errorf("unexpected argument %q: usage: %s", arg, cmd.Use)
}
