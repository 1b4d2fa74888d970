package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// A server is a program to measure.
type server struct {
	name    string
	path    string // of the binary
	size    int64  // of the binary, in bytes
	version string // of the library it stands on, if it has one of its own
}

// libraries are the modules whose versions matter.
var libraries = map[string]string{
	"gosdk": "github.com/modelcontextprotocol/go-sdk",
	"mcpgo": "github.com/mark3labs/mcp-go",
}

// mustChoose tells whether the server has to be told which era it is for: one handler of the
// Go SDK has sessions or does without.
func (s server) mustChoose() bool { return s.name == "gosdk" }

// waits tells whether the server has slow and busy.
func (s server) waits() bool { return s.name != "floor" && s.name != "linked" }

// build makes the binaries of the named servers in dir, all with the same flags.
func build(ctx context.Context, dir string, names []string) ([]server, error) {
	args := []string{"build", "-trimpath", "-o", dir + string(filepath.Separator)}
	for _, name := range names {
		args = append(args, "github.com/petrock/petrock/bench/servers/"+name)
	}
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("building the servers: %w; is this run inside .bench, with the modules of its go.mod at hand?\n%s", err, output.Bytes())
	}
	servers := make([]server, len(names))
	for i, name := range names {
		s := server{name: name, path: filepath.Join(dir, name)}
		info, err := os.Stat(s.path)
		if err != nil {
			return nil, err
		}
		s.size = info.Size()
		if s.version, err = libraryVersion(s.path, libraries[name]); err != nil {
			return nil, err
		}
		servers[i] = s
	}
	return servers, nil
}

// libraryVersion returns which version of a module a binary was built with, or "".
func libraryVersion(path, module string) (string, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", err
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version, nil
		}
	}
	return "", nil
}
