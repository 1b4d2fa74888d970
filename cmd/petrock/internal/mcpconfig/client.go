package mcpconfig

import (
	"path"
	"path/filepath"
	"slices"
)

// A client is a program that keeps MCP servers in a file, and how it does.
type client struct {
	name     string   // as people call it
	file     string   // in a project, with slashes
	key      string   // of the file that has the servers
	comments bool     // the file may have comments and trailing commas in it
	typed    bool     // the type of a server has to be written
	loose    bool     // numbers and null are good in env
	addsPath bool     // what env has as PATH comes behind the one there is
	sparse   bool     // a header that comes out empty is not sent
	fields   []string // that a server may have beside those that all clients have

	expander    func(*source, *world) expander
	environment func(*source, *world, map[string]string) // has the last word on the environment of a program; may be nil
	tilde       func(*world, string) (string, error)     // fills in ~/; may be nil
}

// clients lists the files of a project in the order in which they count.
func clients() []client {
	return []client{claude(), crush(".crush.json"), crush("crush.json"), cursor(), vscode()}
}

// clientOf returns the client whose file has a certain path, and the folder that is the project's for it.
func clientOf(file string) (c client, folder string, ok bool) {
	dir, base := filepath.Split(file)
	dir = filepath.Clean(dir)
	for _, c := range clients() {
		switch within := path.Dir(c.file); {
		case path.Base(c.file) != base:
		case within == ".":
			return c, dir, true
		case within == filepath.Base(dir):
			return c, filepath.Dir(dir), true
		}
	}
	return client{}, dir, false
}

// clientFor returns the client that keeps its servers under one of keys, of which there has to be one alone.
func clientFor(keys []string) (client, bool) {
	var found []client
	for _, c := range []client{claude(), crush("crush.json"), vscode()} {
		if slices.Contains(keys, c.key) {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return client{}, false
	}
	return found[0], true
}
