package main

import "github.com/petrock/petrock/core/serve"

// wire replaces the derived function, so that main.go compiles here. This file is not copied into
// projects.
func wire() serve.Wiring { return serve.Wiring{} }
