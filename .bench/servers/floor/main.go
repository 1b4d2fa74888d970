// Floor answers canned bytes, and has nothing else in it.
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
