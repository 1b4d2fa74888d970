package terminal_test

import (
	"fmt"
	"os"

	"github.com/petrock/petrock/core/plumbing/terminal"
)

func ExampleExitCode() {
	err := fmt.Errorf("new: %w", terminal.Usagef("unknown flag %s", "--quite"))
	fmt.Println(err, terminal.ExitCode(err))
	// Output: new: unknown flag --quite 2
}

// Text from a server cannot clear the screen or hide its end.
func ExamplePlain() {
	fmt.Println(terminal.Plain("done\x1b[2J \u202etxt.exe"))
	// Output: done\u001b[2J \u202etxt.exe
}

func ExamplePrintJSON() {
	if err := terminal.PrintJSON(os.Stdout, map[string]any{"name": "a\u200bb"}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {
	//   "name": "a\u200bb"
	// }
}
