package cli

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/docs"
)

//go:embed help.txt
var helpText string

// helpSection returns the text and the examples in a section of help.txt: those of a command, or of
// several. Examples are command lines that start with $.
func helpSection(name string) (text, examples string) {
	_, section, _ := strings.Cut(helpText, "== "+name+"\n")
	section, _, _ = strings.Cut(section, "\n== ")
	text, examples, _ = strings.Cut("\n"+section, "\n$ ")
	return strings.TrimSpace(text), strings.TrimSpace(examples)
}

func longHelp(name string) string {
	text, _ := helpSection(name)
	return text
}

// examples returns the examples of a command as its help shows them, or "".
func examples(env Env, name string) string {
	_, lines := helpSection(name)
	if lines == "" {
		return ""
	}
	start := "  " + env.Program + " "
	return start + strings.ReplaceAll(lines, "\n$ ", "\n"+start)
}

// extendHelp makes the help command of root print the pages of package docs, and the help of root
// list them.
func extendHelp(root *cobra.Command) {
	printHelp := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		printHelp(cmd, args)
		if cmd == root {
			out := cmd.OutOrStdout()
			fmt.Fprint(out, "\nHelp topics:\n")
			for _, page := range docs.Pages() {
				fmt.Fprintf(out, "  %-11s %s\n", page.Topic, page.Title)
			}
			fmt.Fprintf(out, "\nUse \"%s help TOPIC\" to read about a topic.\n", root.CommandPath())
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
		var names []string
		for _, sub := range cmd.Commands() {
			names = append(names, sub.Name())
		}
		for _, page := range docs.Pages() {
			names = append(names, page.Topic)
		}
		hint := cmp.Or(terminal.Suggest(rest[0], names), "; run "+cmd.Root().CommandPath()+" help for a list")
		return terminal.Usagef("no help topic or command %q%s", strings.Join(args, " "), hint)
	}
	cmd.InitDefaultHelpFlag()
	return cmd.Help()
}

// completeHelp completes the topics.
func completeHelp(help *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		for _, page := range docs.Pages() {
			words = append(words, page.Topic+"\t"+page.Title)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
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

// reportStyles are the styles of the lines of a report, by their beginnings.
var reportStyles = []struct {
	beginning *regexp.Regexp
	mark      string // styled in its place
	style     terminal.Style
}{
	{regexp.MustCompile(`(?m)^((Created|Generated|Undid|Redid|Destroyed|Derived|Added|Removed|All) |[^ ]+: ok\b)`), "✓ ", terminal.Green},
	{regexp.MustCompile(`(?m)^([^ ]+: wrong\b|.*not compile:$)`), "✗ ", terminal.Red},
	{regexp.MustCompile(`(?m)^( *(wrong|refused):|  (delete|remove) )`), "", terminal.Red},
	{regexp.MustCompile(`(?m)^( *(warning|notice|note):|  update )`), "", terminal.Yellow},
	{regexp.MustCompile(`(?m)^  (create|add) `), "", terminal.Green},
	{regexp.MustCompile(`(?m)^[A-Z].*:$`), "", terminal.Bold},
	{regexp.MustCompile(`(?m)^The \d+ tools? takes? .*$`), "", terminal.Dim},
}

// addStyles adds marks and colors to the lines of a report. The first matching rule applies to a
// line.
func addStyles(out io.Writer, report string) string {
	for _, rule := range reportStyles {
		report = rule.beginning.ReplaceAllStringFunc(report, func(match string) string {
			if rule.mark != "" {
				return rule.style.On(out, rule.mark) + match
			}
			return rule.style.On(out, match)
		})
	}
	return report
}
