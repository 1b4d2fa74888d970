// Linked answers canned bytes like floor, in a program that cobra and net/http are part
// of. It shows what these cost a process that does not get around to using them: their
// packages are initialised, and the binary is larger.
package main

import (
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/bench/internal/canned"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 && args[0] == "mcp" {
		return canned.Serve(os.Stdin, os.Stdout)
	}
	return (&cobra.Command{
		Use:   "linked",
		Short: "Serve HTTP",
		RunE: func(*cobra.Command, []string) error {
			return http.ListenAndServe("localhost:8080", nil)
		},
	}).Execute()
}
