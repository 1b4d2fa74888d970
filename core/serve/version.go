package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is what clients are told. Raise it when you release.
const version = "0.1.0"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s%s %s\n", programName, version, revision(), runtime.Version())
			return err
		},
	}
}

// revision is what the build knows of the source that it was made from, if anything.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	text := ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			text = " (" + setting.Value[:min(12, len(setting.Value))] + ")" + text
		case setting.Key == "vcs.modified" && setting.Value == "true":
			text += " modified"
		}
	}
	return text
}
