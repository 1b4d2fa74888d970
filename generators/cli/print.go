package cli

import (
	"fmt"
	"strings"

	"github.com/petrock/petrock/generators/engine"
)

// printResult says what was done. Of a dry run it prints the differences alone, for other programs
// to read, and the rest to standard error.
func printResult(env Env, r *engine.Result) error {
	if r.Recovered != "" {
		fmt.Fprintln(env.Err, r.Recovered)
	}
	if !r.DryRun {
		_, err := fmt.Fprint(env.Out, r)
		return err
	}
	var diffs strings.Builder
	for _, f := range r.Files {
		diffs.WriteString(f.Diff)
	}
	if _, err := fmt.Fprint(env.Out, diffs.String()); err != nil {
		return err
	}
	_, err := fmt.Fprint(env.Err, r)
	return err
}
