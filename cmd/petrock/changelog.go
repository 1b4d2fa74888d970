package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"github.com/petrock/petrock/cmd/petrock/internal/changelog"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/cli"
)

//go:embed CHANGELOG.md
var changelogText string

func newChangelog(env cli.Env) *cobra.Command {
	var since string
	var asJSON, security bool
	cmd := &cobra.Command{
		Use:   "changelog",
		Short: "Print what changed in petrock",
		Long: `Print what changed in petrock, newest release first. --since prints only releases that are newer than
a version, such as the one that a project's petrock.json names.`,
		Example: `  petrock changelog
  petrock changelog --since 0.2.0
  petrock changelog --security --json`,
		RunE: func(*cobra.Command, []string) error {
			releases, err := changelog.Parse(changelogText)
			if err != nil {
				return err
			}
			if since != "" {
				if since = strings.TrimPrefix(since, "v"); !semver.IsValid("v" + since) {
					return terminal.Usagef("--since %s: not a version; write it as 0.2.0", since)
				}
				releases = changelog.Since(releases, since)
			}
			if security {
				releases = onlySecurity(releases)
			}
			if asJSON {
				return json.NewEncoder(env.Out).Encode(map[string]any{"releases": append([]changelog.Release{}, releases...)})
			}
			return printReleases(env.Out, releases)
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "print only releases newer than `VERSION`")
	cmd.Flags().BoolVar(&security, "security", false, "print only entries that fix a vulnerability")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// onlySecurity returns the releases that fix vulnerabilities, with only these entries.
func onlySecurity(releases []changelog.Release) []changelog.Release {
	var found []changelog.Release
	for _, r := range releases {
		fixes := changelog.Release{Version: r.Version}
		for _, e := range r.Entries {
			if e.Security {
				fixes.Entries = append(fixes.Entries, e)
			}
		}
		if len(fixes.Entries) > 0 {
			found = append(found, fixes)
		}
	}
	return found
}

func printReleases(out io.Writer, releases []changelog.Release) error {
	var text strings.Builder
	if len(releases) == 0 {
		text.WriteString("No changes.\n")
	}
	for i, r := range releases {
		if i > 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "petrock %s\n", r.Version)
		topic := ""
		for _, e := range r.Entries {
			if e.Topic != topic {
				topic = e.Topic
				fmt.Fprintf(&text, "\n%s\n", topic)
			}
			fmt.Fprintf(&text, "  - %s\n", strings.ReplaceAll(e.String(), "**", ""))
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}
