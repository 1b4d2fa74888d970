package main

import "github.com/petrock/petrock/core/mcphttp"

// defaultAddr is where serve listens unless --addr says otherwise: an address that this machine alone reaches.
const defaultAddr = mcphttp.DefaultAddr

// keysRequired says whether serve wants API keys wherever it listens, and does not start without one. If not, it asks for a key where it
// is given some, and wants them where others than the programs of this machine reach it.
const keysRequired = false
