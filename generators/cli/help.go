package cli

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/docs"
)

// extendHelp makes the help command of root print the pages of package docs, and the help of root
// list them.
func extendHelp(root *cobra.Command) {
	printHelp := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		printHelp(cmd, args)
		if cmd == root {
			fmt.Fprint(cmd.OutOrStdout(), listTopics(root.Name()))
		}
	})
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // cobra adds the command
	}
	help.Use = "help [TOPIC | COMMAND]"
	help.Short = "Read about a topic or a command"
	help.Long = `Print the page of a topic, as Markdown, or the help of a command. If a topic and a command have the
same name, help prints the topic; run the command with --help for its own help.`
	help.Args, help.ValidArgsFunction = cobra.ArbitraryArgs, completeHelp
	help.Run, help.RunE = nil, runHelp
}

func listTopics(program string) string {
	text := "\nHelp topics:\n"
	for _, page := range docs.Pages() {
		text += fmt.Sprintf("  %-11s %s\n", page.Topic, page.Title)
	}
	return text + fmt.Sprintf("\nUse \"%s help TOPIC\" to read about a topic.\n", program)
}

func runHelp(help *cobra.Command, args []string) error {
	cmd, rest, err := help.Root().Find(args)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if page, ok := docs.Find(args[0]); ok {
			if len(rest) == 0 {
				fmt.Fprintf(help.ErrOrStderr(), "See also: %s --help\n", cmd.CommandPath())
			}
			_, err := fmt.Fprint(help.OutOrStdout(), page.Text)
			return err
		}
	}
	if len(rest) > 0 {
		return terminal.Usagef("no help topic or command %q%s", strings.Join(args, " "), suggestHelp(cmd, rest[0]))
	}
	cmd.InitDefaultHelpFlag()
	return cmd.Help()
}

// suggestHelp returns the end of an error message: subcommands of cmd, and topics if cmd is the root,
// that are spelled like word.
func suggestHelp(cmd *cobra.Command, word string) string {
	var candidates []string
	for _, page := range docs.Pages() {
		if !cmd.HasParent() {
			candidates = append(candidates, page.Topic)
		}
	}
	for _, sub := range cmd.Commands() {
		if _, isTopic := docs.Find(sub.Name()); cmd.HasParent() || !isTopic {
			candidates = append(candidates, sub.Name())
		}
	}
	if similar := mcpcli.Suggest(word, candidates); similar != "" {
		return similar
	}
	return fmt.Sprintf("; run %s help for a list", cmd.Root().Name())
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

// A highlight is a part of a report that a terminal shows in a style. The first pattern that matches a
// line is used. Its first group is printed in the style, after mark; an empty group styles only the
// mark.
type highlight struct {
	pattern *regexp.Regexp
	style   terminal.Style
	mark    string
}

func highlights() []highlight {
	return []highlight{
		{regexp.MustCompile(`^()(Created|Generated|Undid|Redid|Destroyed|Derived|Added|Removed|All) `), terminal.Green, "✓ "},
		{regexp.MustCompile(`^()[^ ]+: ok\b`), terminal.Green, "✓ "},
		{regexp.MustCompile(`^()[^ ]+: wrong\b`), terminal.Red, "✗ "},
		{regexp.MustCompile(`(?m)^().*not compile:$`), terminal.Red, "✗ "},
		{regexp.MustCompile(`^ *(wrong|refused):`), terminal.Red, ""},
		{regexp.MustCompile(`^ *(warning|notice|note):`), terminal.Yellow, ""},
		{regexp.MustCompile(`^  (create|add) `), terminal.Green, ""},
		{regexp.MustCompile(`^  (update) `), terminal.Yellow, ""},
		{regexp.MustCompile(`^  (delete|remove) `), terminal.Red, ""},
		{regexp.MustCompile(`(?m)^([A-Z].*:)$`), terminal.Bold, ""},
		{regexp.MustCompile(`(?m)^(The \d+ tools? takes? .*)$`), terminal.Dim, ""},
	}
}

// PrintReport prints a report with control characters escaped and, on a terminal, with marks and
// colors.
func PrintReport(out io.Writer, report fmt.Stringer) error {
	text := terminal.Plain(report.String())
	if terminal.HasColor(out) {
		text = addStyles(out, text)
	}
	_, err := io.WriteString(out, text)
	return err
}

func addStyles(out io.Writer, report string) string {
	var b strings.Builder
	all := highlights()
	for line := range strings.Lines(report) {
		for _, h := range all {
			if at := h.pattern.FindStringSubmatchIndex(line); at != nil {
				line = line[:at[2]] + h.style.On(out, h.mark+line[at[2]:at[3]]) + line[at[3]:]
				break
			}
		}
		b.WriteString(line)
	}
	return b.String()
}
