// Httpfloor is a server on net/http that does nothing but send canned responses.
package main

import (
	"fmt"
	"os"

	"github.com/petrock/petrock/bench/internal/front"
)

func main() {
	if err := front.Serve(newHandler()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
