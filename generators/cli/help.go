package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/docs"
)

// addHelp adds a help command for commands and for the topics of package docs. The help of root
// lists the topics.
func addHelp(root *cobra.Command) {
	printHelp := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		printHelp(cmd, args)
		if cmd == root {
			fmt.Fprint(cmd.OutOrStdout(), listTopics(root.Name()))
		}
	})
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [TOPIC | COMMAND]",
		Short: "Read about a topic or a command",
		Long: `Print the page of a topic, as Markdown, or the help of a command. If a topic and a command have the
same name, help prints the topic; run the command with --help for its own help.`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeHelp,
		RunE:              runHelp,
	})
}

// listTopics lists the topics for the help of a program.
func listTopics(program string) string {
	text := "\nHelp topics:\n"
	for _, page := range docs.Pages() {
		text += fmt.Sprintf("  %-11s %s\n", page.Topic, page.Title)
	}
	return text + fmt.Sprintf("\nUse \"%s help TOPIC\" to read about a topic.\n", program)
}

func runHelp(help *cobra.Command, args []string) error {
	root := help.Root()
	cmd, rest, err := root.Find(args)
	isCommand := err == nil && len(rest) == 0
	if len(args) == 1 {
		if page, ok := docs.Find(args[0]); ok {
			if isCommand {
				fmt.Fprintf(help.ErrOrStderr(), "See also: %s --help\n", cmd.CommandPath())
			}
			_, err := fmt.Fprint(help.OutOrStdout(), page.Text)
			return err
		}
	}
	if !isCommand {
		return terminal.Usagef("no help topic or command %q%s", strings.Join(args, " "), suggestHelp(root, args[0]))
	}
	cmd.InitDefaultHelpFlag()
	return cmd.Help()
}

// suggestHelp returns topics and commands that are spelled like word, for an error message.
func suggestHelp(root *cobra.Command, word string) string {
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, page := range docs.Pages() {
		names.AddCommand(&cobra.Command{Use: page.Topic, Run: func(*cobra.Command, []string) {}})
	}
	for _, cmd := range root.Commands() {
		if _, ok := docs.Find(cmd.Name()); !ok && cmd.IsAvailableCommand() {
			names.AddCommand(&cobra.Command{Use: cmd.Name(), Run: func(*cobra.Command, []string) {}})
		}
	}
	if similar := names.SuggestionsFor(word); len(similar) > 0 {
		return "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return fmt.Sprintf("; run %s help for a list", root.Name())
}

func completeHelp(help *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
	cmd, _, err := help.Root().Find(args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if len(args) == 0 {
		for _, page := range docs.Pages() {
			words = append(words, page.Topic+"\t"+page.Title)
		}
	}
	for _, sub := range cmd.Commands() {
		if _, ok := docs.Find(sub.Name()); !(ok && len(args) == 0) && sub.IsAvailableCommand() {
			words = append(words, sub.Name()+"\t"+sub.Short)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
