package mcpconfig

import (
	"errors"
	"fmt"
	"strings"
)

// A Config is what one file, or those of a project, say about servers. It is not for several goroutines at once.
type Config struct {
	Dir      string     // the folder of the project, absolute
	Files    []string   // that were found, in the order in which they count
	Problems []*Problem // of files as a whole; those of servers are in [Server.Err]

	world   *world
	entries []*entryOf
	byName  map[string]*entryOf
}

// An entryOf is a server of a file.
type entryOf struct {
	rawEntry
	source  *source
	shadows []string
}

// ErrUnknown says that no file has a server of that name.
var ErrUnknown = errors.New("no such MCP server")

// add takes the servers of a file that comes after those that were added before. s may be nil.
func (c *Config) add(s *source) {
	if s == nil {
		return
	}
	if c.byName == nil {
		c.byName = make(map[string]*entryOf)
	}
	for _, raw := range s.entries {
		if e := c.byName[raw.name]; e != nil {
			e.shadows = append(e.shadows, s.file)
			continue
		}
		e := &entryOf{rawEntry: raw, source: s}
		c.entries = append(c.entries, e)
		c.byName[raw.name] = e
	}
}

// Names lists the servers: those of the first file as they stand there, then what the second has beside them, and so on. Nothing is
// looked at but the names.
func (c *Config) Names() []string {
	names := make([]string, 0, len(c.entries))
	for _, e := range c.entries {
		names = append(names, e.name)
	}
	return names
}

// Server returns the server of a name with its variables filled in. The error is [Server.Err], or [ErrUnknown]; the
// server is nil in the latter case alone. A disabled server is as good as any here: whoever names it wants it.
func (c *Config) Server(name string) (*Server, error) {
	e := c.byName[name]
	if e == nil {
		return nil, c.unknown(name)
	}
	s := fill(e, c.world, true)
	return s, s.Err
}

// Servers returns all servers, in the order of [Config.Names], with their variables filled in but for disabled ones: of those no
// more is known than what is said without variables. Each has its own error.
func (c *Config) Servers() []*Server {
	servers := make([]*Server, 0, len(c.entries))
	for _, e := range c.entries {
		servers = append(servers, fill(e, c.world, false))
	}
	return servers
}

// unknown is the error for a name that no file has.
func (c *Config) unknown(name string) error {
	where := strings.Join(c.Files, ", ")
	err := fmt.Errorf("%w as %q in %s", ErrUnknown, name, where)
	if names := c.Names(); len(names) > 0 {
		err = fmt.Errorf("%w; there are: %s", err, strings.Join(names, ", "))
	}
	var all []error
	for _, p := range c.Problems {
		all = append(all, p)
	}
	return errors.Join(append(all, err)...)
}
