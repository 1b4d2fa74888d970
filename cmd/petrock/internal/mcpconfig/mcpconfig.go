// Package mcpconfig reads the files in which MCP clients keep their servers, each by the rules of the client that
// it belongs to. It starts nothing and connects to nothing.
//
//	config, err := mcpconfig.Find(".", mcpconfig.Options{})
//	…
//	server, err := config.Server("orchard") // the program to start, or the address to call
//
// These are the files of a project, in the order in which they count where several name the same server:
//
//	.mcp.json          Claude Code   mcpServers  ${VAR} ${VAR:-default}
//	.crush.json        Crush         mcp         $VAR ${VAR} ${VAR:-default} ${VAR:?message} …
//	crush.json         Crush         mcp         the same
//	.cursor/mcp.json   Cursor        mcpServers  ${env:VAR} ${workspaceFolder} ${userHome} …
//	.codex/config.toml Codex         mcp_servers env_http_headers and bearer_token_env_var name variables
//	.vscode/mcp.json   VS Code       servers     the same as Cursor, and ${input:ID}
//
// The first comes first because most clients read it, the last comes last because it may have to ask somebody. Those of Cursor
// and VS Code may have comments and trailing commas in them. A key that stands twice in one object is refused in all of them; fields
// that nobody knows are not.
//
// A server that is wrong is in nobody's way: it carries its own error, a [Problem] or several, and the others are
// as good as they were. So is a file that cannot be read. No error has the value of a variable in it, of an input, or of
// a field that variables are filled in to.
//
// Variables are filled in when a server is asked for, not before: nobody is asked for the inputs of a server that is not wanted. What
// has been filled in is not looked at again: a value with ${…} in it stays what it is. Where clients put up with a
// variable that is not set, and start the server with the text of the reference or with nothing in its place, this package calls it a
// problem; in the files of Crush, which documents that it is the empty string, it is that.
//
// The files name programs to start. [Find] therefore ignores files of other users, and files above
// the project, and [Server.OfUser] says whether only the user can have written a file.
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
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/strictjson"
)

// A Config is what one file, or those of a project, say about servers. It is not for several goroutines at once.
type Config struct {
	Dir      string     // the folder of the project, absolute
	Files    []string   // that were found, in the order in which they count
	Problems []*Problem // of files as a whole; those of servers are in [Server.Err]
	Ignored  []*Problem // files that [Find] does not read, and why

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
	for _, p := range slices.Concat(c.Problems, c.Ignored) {
		all = append(all, p)
	}
	return errors.Join(append(all, err)...)
}

// A Kind says how one speaks to a server.
type Kind string

const (
	// Stdio is a program that is started, and spoken to by its standard input and output.
	Stdio Kind = "stdio"
	// HTTP is an address that speaks streamable HTTP.
	HTTP Kind = "http"
	// SSE is an address that speaks the HTTP of revision 2024-11-05.
	SSE Kind = "sse"
)

// A Server is one entry of a configuration file, with its variables filled in.
type Server struct {
	Name    string
	File    string   // that names it
	Shadows []string // other files that name it too, and do not count
	Kind    Kind     // "" if that is what is wrong with it

	OfUser     bool     // the file is in the home folder, and only the user can write it
	Definition string   // a hash of the folder and of all that the files say about the server
	Written    []string // the command and its arguments, or the URL, as the file has them
	HasVars    bool     // a text with a $ was expanded

	// WrittenMore is the environment, or the headers, as the files have them, without the values of
	// variables.
	WrittenMore map[string]string

	// Of Stdio. A command with a slash in it is an absolute path; one without is looked for in the PATH.
	Command string
	Args    []string
	Env     map[string]string // beside what the environment has
	Dir     string            // to start it in, absolute

	// Of HTTP and SSE.
	URL    string
	Header http.Header

	// What Crush has to say.
	Timeout       time.Duration // 0 if nothing is said
	Disabled      bool
	DisabledTools []string // not to be used
	EnabledTools  []string // if there are any, no others are to be used

	// Err is why the server cannot be used: a [*Problem], or several joined. What is wrong is left out of the fields above.
	Err error
}

// Options are what the variables of configuration files are filled in from. The zero value is the world as it is, with nobody
// to ask.
type Options struct {
	// Getenv returns the value of an environment variable, and whether it is set. Nil is [os.LookupEnv].
	Getenv func(name string) (string, bool)

	// Home is the home folder of the user. "" is [os.UserHomeDir].
	Home string

	// IsOwn reports whether a file belongs to the user. nil compares its owner.
	IsOwn func(fs.FileInfo) bool

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

// isOwn reports whether a file belongs to the user.
func (w *world) isOwn(info fs.FileInfo) bool {
	if w.IsOwn != nil {
		return w.IsOwn(info)
	}
	return userfile.IsOwn(info)
}

// isHome reports whether a folder is the home folder.
func (w *world) isHome(folder string) bool {
	home, err := w.home()
	if err != nil {
		return false
	}
	one, err := os.Stat(home)
	other, otherErr := os.Stat(folder)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}

// A Problem is something wrong in a configuration file, with the way out. Values of variables are no part of its text.
type Problem struct {
	File   string
	Line   int    // from 1, where the file is not the JSON that it has to be; otherwise 0
	Column int    // from 1, in characters
	Server string // "" if the file as a whole is wrong
	Field  string // such as args[2] or headers.Authorization; "" if it is not one
	Err    error
}

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

func (p *Problem) Unwrap() error { return p.Err }

// malformed is the problem of a file whose text is refused for err.
func malformed(file string, text []byte, err error) *Problem {
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

// bare is an error of the file system without the path, which whoever reports it has named.
func bare(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// ErrNone says that there is no configuration file in a folder or above it.
var ErrNone = errors.New("no file with MCP servers")

// errForeign is why a file is ignored.
var errForeign = errors.New("ignored, because it belongs to another user; to use it, name it with --config")

// Find reads the configuration files for dir: those of the nearest folder, dir or one above it,
// that has any with the key of its client in it. If there is none, the error is [ErrNone]. What is
// wrong in a file is in [Config.Problems], and no error.
//
// The search ends with the folder of the project, which has a petrock.json, or with the home
// folder, whichever is nearer. Outside of both it ends with the root of the git repository, or else
// with dir. Files above that are ignored, and so are files of other users; [Config.Ignored] and the
// error name them.
//
// ~/.cursor/mcp.json and ~/.codex/config.toml are for all projects, and ignored.
func Find(dir string, o Options) (*Config, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	w := newWorld(o)
	last := w.lastFolder(start)
	var ignored []*Problem
	for folder := start; ; folder = filepath.Dir(folder) {
		c := findIn(folder, w)
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
	all := []error{fmt.Errorf("%w in %s; they stand in %s", ErrNone, where, fileNames())}
	for _, p := range append(ignored, above(last)...) {
		all = append(all, p)
	}
	return nil, errors.Join(all...)
}

// lastFolder returns the folder at which a search that begins at start ends.
func (w *world) lastFolder(start string) string {
	repository := ""
	for folder := start; ; folder = filepath.Dir(folder) {
		switch {
		case w.has(folder, project.FileName), w.isHome(folder):
			return folder
		case repository == "" && w.has(folder, ".git"):
			repository = folder
		}
		if folder == filepath.Dir(folder) {
			return cmp.Or(repository, start)
		}
	}
}

// has reports whether a folder has a file or folder that belongs to the user.
func (w *world) has(folder, name string) bool {
	info, err := os.Lstat(filepath.Join(folder, name))
	return err == nil && w.isOwn(info)
}

// above returns the files above a folder that an unlimited search would find first.
func above(last string) (ignored []*Problem) {
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

// findIn reads the files of one folder.
func findIn(folder string, w *world) *Config {
	c := &Config{Dir: folder, world: w}
	for _, client := range clients() {
		if (client.file == cursor().file || client.file == codex().file) && w.isHome(folder) {
			continue
		}
		file := filepath.Join(folder, filepath.FromSlash(client.file))
		s, problem := readSource(file, file, w.isOwn)
		switch {
		case problem != nil && absent(problem.Err):
			continue
		case problem != nil && errors.Is(problem, errForeign):
			c.Ignored = append(c.Ignored, problem)
			continue
		case problem != nil:
			c.Problems = append(c.Problems, problem)
		case !s.has:
			continue // settings of the client, and no servers
		}
		c.Files = append(c.Files, file)
		c.add(s)
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
// that of Claude Code, mcp that of Crush, servers that of VS Code. A file in TOML is Codex's. The folder of the project is the one
// that it is in, or the one above, for .cursor/mcp.json, .codex/config.toml and .vscode/mcp.json. It may belong to another user. The error of a
// file that cannot be used is a [*Problem].
func Read(file string, o Options) (*Config, error) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	s, problem := readSource(file, absolute, nil)
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
