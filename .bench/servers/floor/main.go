// Floor is a server over stdio that does nothing but send canned responses.
package main

import (
	"fmt"
	"os"

	"github.com/petrock/petrock/bench/internal/canned"
)

func main() {
	if err := canned.Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
