package mcpconfig

import (
	"errors"
	"os"
)

// Options are what the variables of configuration files are filled in from. The zero value is the world as it is, with nobody
// to ask.
type Options struct {
	// Getenv returns the value of an environment variable, and whether it is set. Nil is [os.LookupEnv].
	Getenv func(name string) (string, bool)

	// Home is the home folder of the user. "" is [os.UserHomeDir].
	Home string

	// Input asks for an input of .vscode/mcp.json. It is called for a server that is wanted, once for each input of a file, unless
	// the environment has the input (see [Input.Variable]). What it returns is taken as it is. Its error is the problem of the servers
	// that need the input. If it is nil, the default of the input counts, and an input without one is a problem.
	Input func(Input) (string, error)
}

// A world is [Options] as they are used.
type world struct {
	Options
	answers map[answerKey]answer
}

func newWorld(o Options) *world { return &world{Options: o, answers: make(map[answerKey]answer)} }

// getenv looks up an environment variable.
func (w *world) getenv(name string) (string, bool) {
	if w.Getenv != nil {
		return w.Getenv(name)
	}
	return os.LookupEnv(name)
}

// home returns the home folder.
func (w *world) home() (string, error) {
	if w.Home != "" {
		return w.Home, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("the home folder is not known; set HOME, or USERPROFILE on Windows")
	}
	return home, nil
}
