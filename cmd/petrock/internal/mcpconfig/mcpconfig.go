// Package mcpconfig reads the configuration files of MCP clients, each by the rules of its client.
// It does not start or connect to servers.
//
//	config, err := mcpconfig.Find(".", mcpconfig.Options{})
//	…
//	server, err := config.Server("orchard") // the program to start, or the URL to call
//
// These are the files of a project. If several name the same server, the first one takes
// precedence:
//
//	.mcp.json             Claude Code  mcpServers  ${VAR} ${VAR:-default}
//	.crush.json           Crush        mcp         $VAR ${VAR} ${VAR:-default} ${VAR:?message} …
//	crush.json            Crush        mcp         the same
//	.cursor/mcp.json      Cursor       mcpServers  ${env:VAR} ${workspaceFolder} ${userHome} …
//	.codex/config.toml    Codex        mcp_servers env_http_headers, bearer_token_env_var
//	.gemini/settings.json Gemini CLI   mcpServers  $VAR ${VAR} ${VAR:-default}
//	.vscode/mcp.json      VS Code      servers     the same as Cursor, and ${input:ID}
//
// The file of VS Code is last because it may require input from the user. The files of Cursor,
// Gemini CLI and VS Code may contain comments and trailing commas. Duplicate keys are errors.
// Unknown fields are ignored.
//
// An invalid server or file does not affect the others. A server has its own error, one [Problem]
// or several. Errors never contain the value of a variable, of an input, or of an expanded field.
//
// Variables are expanded when a server is requested, so the user is asked only for the inputs of
// that server. Values are not expanded again: a ${…} in a value is plain text. A variable that is
// not set is an error, even where the client starts the server without it. The exception is Crush,
// which documents that it expands to the empty string.
//
// The files name programs to start. Therefore [Find] ignores files of other users and files above
// the project, and [Server.Trusted] reports whether only the user can have written a file.
package mcpconfig

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/petrock/petrock/cmd/petrock/internal/userfile"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/strictjson"
)

// A Config holds the servers of one file, or of the files of a project. It is not safe for
// concurrent use.
type Config struct {
	Dir      string     // the folder of the project, absolute
	Files    []string   // that were found, by precedence
	Problems []*Problem // of whole files; those of servers are in [Server.Err]
	Ignored  []*Problem // files that [Find] ignored, with the reasons

	resolver *resolver
	entries  []*fileEntry
	byName   map[string]*fileEntry
}

// A fileEntry is a server with the file that defines it.
type fileEntry struct {
	rawEntry
	source  *source
	shadows []string
}

// ErrUnknown is returned for a name that no file defines.
var ErrUnknown = errors.New("unknown MCP server")

// add adds the servers of a file. Files added earlier take precedence. s may be nil.
func (c *Config) add(s *source) {
	if s == nil {
		return
	}
	if c.byName == nil {
		c.byName = make(map[string]*fileEntry)
	}
	for _, raw := range s.entries {
		if e := c.byName[raw.name]; e != nil {
			e.shadows = append(e.shadows, s.file)
			continue
		}
		e := &fileEntry{rawEntry: raw, source: s}
		c.entries = append(c.entries, e)
		c.byName[raw.name] = e
	}
}

// Names returns the names of the servers, by file and in the order of the file.
func (c *Config) Names() []string {
	names := make([]string, 0, len(c.entries))
	for _, e := range c.entries {
		names = append(names, e.name)
	}
	return names
}

// Server returns a server, enabled or disabled, with its variables expanded. The error is
// [Server.Err], or [ErrUnknown] with a nil server.
func (c *Config) Server(name string) (*Server, error) {
	e := c.byName[name]
	if e == nil {
		return nil, c.unknown(name)
	}
	s := buildServer(e, c.resolver, true)
	return s, s.Err
}

// Servers returns all servers in the order of [Config.Names]. Variables of disabled servers are not
// expanded. Each server has its own error.
func (c *Config) Servers() []*Server {
	servers := make([]*Server, 0, len(c.entries))
	for _, e := range c.entries {
		servers = append(servers, buildServer(e, c.resolver, false))
	}
	return servers
}

// unknown returns the error for a name that no file defines.
func (c *Config) unknown(name string) error {
	err := fmt.Errorf("%w %q in %s", ErrUnknown, name, strings.Join(c.Files, ", "))
	if names := c.Names(); len(names) > 0 {
		err = fmt.Errorf("%w; known servers: %s", err, strings.Join(names, ", "))
	}
	var all []error
	for _, p := range slices.Concat(c.Problems, c.Ignored) {
		all = append(all, p)
	}
	return errors.Join(append(all, err)...)
}

// A Kind is the transport of a server.
type Kind string

// The transports.
const (
	Stdio Kind = "stdio" // a program
	HTTP  Kind = "http"  // streamable HTTP
	SSE   Kind = "sse"   // HTTP with SSE, of revision 2024-11-05
)

// A Server is one entry of a configuration file, with its variables expanded.
type Server struct {
	Name    string
	File    string   // that defines it
	Shadows []string // other files that define it and are overridden
	Kind    Kind     // "" if it is invalid

	Trusted    bool     // the file is in the home folder, and only the user can write it
	Definition string   // a hash of the folder and of everything that the files define for the server
	Unexpanded []string // the command and its arguments, or the URL, before expansion
	HasVars    bool     // a text with a $ was expanded

	// UnexpandedPairs are the environment variables, or the headers, before expansion.
	UnexpandedPairs map[string]string

	// For Stdio. A command with a slash is an absolute path. One without is looked up in PATH.
	Command string
	Args    []string
	Env     map[string]string // added to petrock's environment
	Dir     string            // working directory, absolute

	// For HTTP and SSE.
	URL    string
	Header http.Header

	// Settings of Crush, Codex and Gemini CLI.
	Timeout       time.Duration // 0 if not set
	Disabled      bool
	DisabledTools []string
	EnabledTools  []string // if not empty, all other tools are disabled

	// Err is a [*Problem], or several joined. Invalid fields are left empty.
	Err error
}

// Options configure the expansion of variables. The zero value uses the process's environment and
// does not ask for inputs.
type Options struct {
	// Getenv looks up an environment variable. The default is [os.LookupEnv].
	Getenv func(name string) (string, bool)

	// Home is the user's home folder. The default is [os.UserHomeDir].
	Home string

	// IsOwn reports whether a file belongs to the user. The default compares its owner.
	IsOwn func(fs.FileInfo) bool

	// Input asks for an input of .vscode/mcp.json. It is called once for each input that a
	// requested server needs, unless [Input.Variable] is set in the environment. Its error becomes
	// the error of the server. If Input is nil, inputs have their defaults, and an input without
	// one is an error.
	Input func(Input) (string, error)
}

// A resolver applies [Options] and remembers the answers to inputs.
type resolver struct {
	Options
	answers map[answerKey]answer
}

func newResolver(o Options) *resolver {
	return &resolver{Options: o, answers: make(map[answerKey]answer)}
}

func (r *resolver) getenv(name string) (string, bool) {
	if r.Getenv != nil {
		return r.Getenv(name)
	}
	return os.LookupEnv(name)
}

func (r *resolver) home() (string, error) {
	if r.Home != "" {
		return r.Home, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("the home folder is unknown; set HOME, or USERPROFILE on Windows")
	}
	return home, nil
}

func (r *resolver) isOwn(info fs.FileInfo) bool {
	if r.IsOwn != nil {
		return r.IsOwn(info)
	}
	return userfile.IsOwn(info)
}

func (r *resolver) isHome(folder string) bool {
	home, err := r.home()
	if err != nil {
		return false
	}
	one, err := os.Stat(home)
	other, otherErr := os.Stat(folder)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}

// A Problem is an error in a configuration file, with the remedy. Its text contains no values of
// variables.
type Problem struct {
	File   string
	Line   int    // of a syntax error, from 1; otherwise 0
	Column int    // from 1, in characters
	Server string // "" for a problem of the whole file
	Field  string // such as args[2] or headers.Authorization; "" for a problem of the whole server
	Err    error
}

// Error returns the file, the position, the server and the field, followed by the error.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if p.Server != "" {
		fmt.Fprintf(&b, ": server %q", p.Server)
	}
	if p.Field != "" {
		b.WriteString(": " + p.Field)
	}
	return b.String() + ": " + p.Err.Error()
}

// Unwrap returns Err.
func (p *Problem) Unwrap() error { return p.Err }

func syntaxProblem(file string, text []byte, err error) *Problem {
	p := &Problem{File: file, Err: err}
	var broken *strictjson.Error
	if !errors.As(err, &broken) {
		return p
	}
	before := text[:min(broken.Offset, len(text))]
	p.Line = bytes.Count(before, []byte("\n")) + 1
	p.Column = utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	p.Err = errors.New(broken.Msg)
	if broken.Kind == strictjson.Duplicate {
		p.Err = errors.New(broken.Msg + "; keep one of them")
	}
	return p
}

// withoutPath removes the path from a file system error, because a [Problem] already names the
// file.
func withoutPath(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// ErrNone is returned by [Find] if it finds no configuration file.
var ErrNone = errors.New("no MCP configuration file")

var errForeign = errors.New("ignored, because it belongs to another user; to use it, name it with --config")

// Find reads the configuration files of the nearest folder, dir or one above it, that has any. A
// file without the client's key for servers does not count. If there is no such folder, the error
// is [ErrNone]. Invalid files are not errors: they are in [Config.Problems].
//
// The search ends at the project's folder, which contains petrock.json, or at the home folder,
// whichever is nearer. Outside of both it ends at the root of the git repository, or else at dir.
// Files above that and files of other users are ignored. [Config.Ignored] and the error name them.
//
// ~/.cursor/mcp.json, ~/.codex/config.toml and ~/.gemini/settings.json apply to all projects, and
// are ignored.
func Find(dir string, o Options) (*Config, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	r := newResolver(o)
	last := r.lastFolder(start)
	var ignored []*Problem
	for folder := start; ; folder = filepath.Dir(folder) {
		c := findIn(folder, r)
		ignored = append(ignored, c.Ignored...)
		if c.Ignored = ignored; len(c.Files) > 0 {
			return c, nil
		}
		if folder == last {
			break
		}
	}
	where := start
	if last != start {
		where += " or a folder above it, up to " + last
	}
	all := []error{fmt.Errorf("%w in %s (%s)", ErrNone, where, fileNames())}
	for _, p := range append(ignored, filesAbove(last)...) {
		all = append(all, p)
	}
	return nil, errors.Join(all...)
}

// lastFolder returns the folder at which a search from start ends.
func (r *resolver) lastFolder(start string) string {
	repository := ""
	for folder := start; ; folder = filepath.Dir(folder) {
		switch {
		case r.owns(folder, project.FileName), r.isHome(folder):
			return folder
		case repository == "" && r.owns(folder, ".git"):
			repository = folder
		}
		if folder == filepath.Dir(folder) {
			return cmp.Or(repository, start)
		}
	}
}

// owns reports whether a folder contains a file or folder that belongs to the user.
func (r *resolver) owns(folder, name string) bool {
	info, err := os.Lstat(filepath.Join(folder, name))
	return err == nil && r.isOwn(info)
}

// filesAbove returns the files in the nearest folder above last that has any.
func filesAbove(last string) (ignored []*Problem) {
	for folder := last; folder != filepath.Dir(folder) && ignored == nil; {
		folder = filepath.Dir(folder)
		for _, client := range clients() {
			file := filepath.Join(folder, filepath.FromSlash(client.file))
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				ignored = append(ignored, &Problem{File: file, Err: fmt.Errorf("ignored, because it is above %s; to use it, name it with --config", last)})
			}
		}
	}
	return ignored
}

func findIn(folder string, r *resolver) *Config {
	c := &Config{Dir: folder, resolver: r}
	for _, client := range clients() {
		if slices.Contains([]string{cursor().file, codex().file, gemini().file}, client.file) && r.isHome(folder) {
			continue
		}
		file := filepath.Join(folder, filepath.FromSlash(client.file))
		s, problem := readSource(file, file, r.isOwn)
		switch {
		case problem != nil && isNotExist(problem.Err):
			continue
		case problem != nil && errors.Is(problem, errForeign):
			c.Ignored = append(c.Ignored, problem)
			continue
		case problem != nil:
			c.Problems = append(c.Problems, problem)
		case !s.hasKey:
			continue // only other settings of the client
		}
		c.Files = append(c.Files, file)
		c.add(s)
	}
	return c
}

func isNotExist(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// fileNames lists the files of a project for a message.
func fileNames() string {
	var names []string
	for _, c := range clients() {
		names = append(names, c.file)
	}
	return strings.Join(names, ", ")
}

// Read reads one configuration file, which may belong to another user. It finds the client by the
// name of the file or, for other names, by the key: mcpServers for Claude Code, mcp for Crush,
// servers for VS Code. Other TOML files belong to Codex. The project's folder is the folder of the
// file, or the one above it for .cursor/mcp.json, .codex/config.toml, .gemini/settings.json and
// .vscode/mcp.json. The error for an unusable file is a [*Problem].
func Read(file string, o Options) (*Config, error) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	s, problem := readSource(file, absolute, nil)
	if problem != nil && (s == nil || len(s.entries) == 0) {
		return nil, problem
	}
	c := &Config{Dir: s.folder, Files: []string{file}, resolver: newResolver(o)}
	if problem != nil {
		c.Problems = []*Problem{problem}
	}
	c.add(s)
	return c, nil
}
