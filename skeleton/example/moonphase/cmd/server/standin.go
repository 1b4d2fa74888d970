package main

import "github.com/petrock/petrock/core/serve"

// wire stands in for the derived function, so that main.go is compiled and vetted here. Projects do not get this file.
func wire() serve.Wiring { return serve.Wiring{} }
