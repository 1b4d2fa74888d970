package mcpcli

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/terminal"
)

// Flags are the values of the flags that all commands have.
type Flags struct {
	JSON, Text bool // at most one of them
	Verbose    bool
	Timeout    time.Duration
}

// Add adds the flags to cmd.
func (f *Flags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.JSON, "json", false, "print JSON (default when stdout is not a terminal)")
	flags.BoolVar(&f.Text, "text", false, "print text (default when stdout is a terminal)")
	flags.BoolVar(&f.Verbose, "verbose", false, "show the server's log")
	// The default allows for a server that is compiled first.
	flags.DurationVar(&f.Timeout, "timeout", time.Minute, "time limit for the server to start, to answer, and between two progress reports")
	cmd.RegisterFlagCompletionFunc("timeout", cobra.NoFileCompletions)
}

// Check returns a usage error for flags that do not fit together.
func (f *Flags) Check() error {
	if f.JSON && f.Text {
		return terminal.Usagef("--json and --text exclude each other; leave one of them out")
	}
	if f.Timeout <= 0 {
		return terminal.Usagef("--timeout must be more than 0, such as 30s")
	}
	return nil
}

// PrintsJSON reports whether to print JSON to out.
func (f *Flags) PrintsJSON(out *os.File) bool {
	return f.JSON || !f.Text && !terminal.Watched(out)
}
