package main

import (
	"fmt"
	"os"

	"github.com/petrock/petrock/core/project"
)

// minStateKey is how many characters a key for what goes through clients has at least.
const minStateKey = 16

// stateKey is the key for what goes through clients while tools ask them questions: the one in the environment, or nil for one of this
// process. Processes that share a balancer need the same.
func stateKey() ([]byte, error) {
	variable := project.Variable(programName, "state_key")
	text, ok := os.LookupEnv(variable)
	switch {
	case !ok:
		return nil, nil
	case len(text) < minStateKey:
		return nil, fmt.Errorf("the key in %s has %d characters, fewer than %d; make one with: openssl rand -hex 32; or unset it", variable, len(text), minStateKey)
	}
	return []byte(text), nil
}
