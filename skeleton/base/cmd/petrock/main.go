// Petrock starts the project's own petrock. It runs dev itself, and builds generators/petrock for
// all other commands. It is small, so that the first start is fast.
package main

import (
	"os"

	"github.com/petrock/petrock/generators/launch"
)

func main() { os.Exit(launch.Main(os.Args[1:])) }
