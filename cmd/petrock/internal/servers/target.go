package mcpcli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/petrock/petrock/cmd/petrock/internal/mcpconfig"
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
)

// isAddress reports whether a word is the address of a server.
func isAddress(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// isArgument reports whether a word is what something is given, and not what it is called.
func isArgument(word string) bool { return word == "-" || strings.Contains(word, "=") }

// A shape is what a command takes beside a server.
type shape int

const (
	nothing  shape = iota
	name           // of one thing
	nameArgs       // and what that is given
)

// namesServer reports whether the first of some words is a server: if it can be nothing else.
func (s shape) namesServer(words []string) bool {
	switch {
	case s == nothing:
		return len(words) > 0
	case len(words) < 2:
		return false
	case s == name:
		return true
	}
	return (isAddress(words[0]) || !isArgument(words[0])) && !isArgument(words[1])
}

// target finds the server that a command line means, and returns the words that are left. dash is where -- was among
// args, or -1.
func (o *options) target(env Env, args []string, dash int, takes shape) (*mcpconfig.Server, []string, error) {
	if dash >= 0 {
		command := args[dash:]
		if len(command) == 0 {
			return nil, nil, terminal.Usagef("after -- comes the command that starts a server, such as: -- npx -y some-server")
		}
		if len(o.headers) > 0 {
			return nil, nil, terminal.Usagef("--header is for addresses; a command is told things by its arguments and its environment")
		}
		return o.program(env, command), args[:dash], nil
	}
	if !takes.namesServer(args) {
		server, err := o.fallback(env)
		return server, args, err
	}
	if isAddress(args[0]) {
		return &mcpconfig.Server{Name: args[0], Kind: mcpconfig.HTTP, URL: args[0]}, args[1:], nil
	}
	config, err := o.configuration(env)
	if err != nil {
		if errors.Is(err, mcpconfig.ErrNone) {
			err = terminal.Usagef("%q is not the name of a server: there is %w; a server is also an address, or a command after --", args[0], err)
		}
		return nil, nil, err
	}
	server, err := config.Server(args[0])
	if errors.Is(err, mcpconfig.ErrUnknown) && strings.ContainsAny(args[0], ":/") && !strings.Contains(args[0], "://") {
		return nil, nil, terminal.Usagef("%w; if it is an address, write http://%s", err, args[0])
	}
	if errors.Is(err, mcpconfig.ErrUnknown) {
		return nil, nil, terminal.Usagef("%w; a server is also an address, or a command after --", err)
	}
	return server, args[1:], nil // with its error, which is that of connecting to it
}

// program is a server that is a command.
func (o *options) program(env Env, command []string) *mcpconfig.Server {
	return &mcpconfig.Server{Name: filepath.Base(command[0]), Kind: mcpconfig.Stdio, Command: command[0], Args: command[1:], Dir: o.folder(env)}
}

// fallback is the server where none is named.
func (o *options) fallback(env Env) (*mcpconfig.Server, error) {
	if len(env.Self) > 0 && o.config == "" {
		return o.program(env, env.Self), nil
	}
	config, err := o.configuration(env)
	if errors.Is(err, mcpconfig.ErrNone) {
		return nil, terminal.Usagef("no server is named, and there is %w; name one by its address, or by its command after --", err)
	}
	if err != nil {
		return nil, err
	}
	names := config.Names()
	best := ""
	if len(names) == 1 {
		best = names[0]
	}
	if found, err := project.Find(config.Dir); err == nil && slices.Contains(names, found.Name) {
		best = found.Name
	}
	if best == "" {
		err := fmt.Errorf("no server is named; in %s there are: %s; a server is also an address, or a command after --", strings.Join(config.Files, ", "), strings.Join(names, ", "))
		switch {
		case len(names) == 0 && len(config.Problems) > 0:
			err = errors.New("no server is named, and none is known; a server is also an address, or a command after --")
		case len(names) == 0:
			err = fmt.Errorf("no server is named, and %s has none; a server is also an address, or a command after --", strings.Join(config.Files, ", "))
		}
		var all []error
		for _, p := range config.Problems {
			all = append(all, p)
		}
		return nil, &terminal.UsageError{Err: errors.Join(append(all, err)...)}
	}
	server, _ := config.Server(best)
	return server, nil
}
