package mcpconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrNone says that there is no configuration file in a folder or above it.
var ErrNone = errors.New("no file with MCP servers")

// Find reads the configuration files of the project that dir is in: those of the nearest folder, dir or one above it, that
// has any with the key of its client in it. If there is none, the error is [ErrNone]. What is wrong in a file is in [Config.Problems], and
// no error.
//
// ~/.cursor/mcp.json is what Cursor has for all projects, and not for the home folder as one.
func Find(dir string, o Options) (*Config, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	w := newWorld(o)
	home, _ := w.home() // where it is not known, nothing is left out
	for folder := start; ; folder = filepath.Dir(folder) {
		if c := findIn(folder, home, w); c != nil {
			return c, nil
		}
		if folder == filepath.Dir(folder) {
			return nil, fmt.Errorf("%w in %s or a folder above it; they stand in %s", ErrNone, start, fileNames())
		}
	}
}

// findIn reads the files of one folder. It returns nil if there is none.
func findIn(folder, home string, w *world) *Config {
	c := &Config{Dir: folder, world: w}
	for _, client := range clients() {
		if client.file == cursor().file && filepath.Clean(home) == folder {
			continue
		}
		file := filepath.Join(folder, filepath.FromSlash(client.file))
		s, problem := readSource(file, file)
		switch {
		case problem != nil && absent(problem.Err):
			continue
		case problem != nil:
			c.Problems = append(c.Problems, problem)
		case !s.has:
			continue // settings of the client, and no servers
		}
		c.Files = append(c.Files, file)
		c.add(s)
	}
	if len(c.Files) == 0 {
		return nil
	}
	return c
}

// absent reports whether an error says that a file does not exist.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// fileNames lists the files of a project for a message.
func fileNames() string {
	var names []string
	for _, c := range clients() {
		names = append(names, c.file)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Read reads one configuration file. Whose it is tells its name, as in a project, or for any other name its key: mcpServers is
// that of Claude Code, mcp that of Crush, servers that of VS Code. The folder of the project is the one that it is in, or the one
// above, for .cursor/mcp.json and .vscode/mcp.json. The error of a file that cannot be used is a [*Problem].
func Read(file string, o Options) (*Config, error) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	s, problem := readSource(file, absolute)
	if problem != nil && (s == nil || len(s.entries) == 0) {
		return nil, problem
	}
	c := &Config{Dir: s.folder, Files: []string{file}, world: newWorld(o)}
	if problem != nil {
		c.Problems = []*Problem{problem}
	}
	c.add(s)
	return c, nil
}
