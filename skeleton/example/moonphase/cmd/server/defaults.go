package main

// defaultAddr is where serve listens unless --addr says otherwise: an address that this machine alone reaches.
const defaultAddr = "127.0.0.1:8181"

// keysRequired says whether serve wants API keys wherever it listens, and does not start without one.
const keysRequired = true
