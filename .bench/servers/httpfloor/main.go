// Httpfloor answers canned bytes over HTTP, and has nothing in it but net/http.
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
