// Package servers has the commands that call any MCP server: tools, call, resources, read, prompts,
// prompt and doctor. A server is a name from a configuration file (see package mcpconfig), a URL,
// or a command after --.
package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/cmd/petrock/internal/mcpconfig"
	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// about explains SERVER in help texts.
const about = aboutServer + `
The default is the server of the project, or the only server in the configuration files.

` + aboutConsent

const aboutServer = `SERVER is a URL, or a name from a configuration file: .mcp.json, .crush.json, crush.json,
.cursor/mcp.json, .codex/config.toml, .gemini/settings.json or .vscode/mcp.json in this folder or one
above it, up to the project's folder or the home folder. To start a server by its command, write the
command after --.`

const aboutConsent = `Before petrock starts a program from a project's configuration file, it shows the program and asks. It
asks again only if the configuration changes. Without a terminal, it starts the program only if you pass
SERVER or --yes. For details, run petrock help trust.`

// Commands returns the commands tools, call, resources, read, prompts, prompt and doctor, which
// call any MCP server.
func Commands(env mcpcli.Env) []*cobra.Command {
	examples := map[string][]string{
		"tools":     {"tools hello", "tools --all", "tools http://127.0.0.1:8181/mcp", "tools -- npx -y some-server"},
		"call":      {"call hello petrock_project_status", "call http://127.0.0.1:8181/mcp add a=2 b=3 --header 'X-Api-Token: KEY'", "call echo message=hi -- npx -y @modelcontextprotocol/server-everything"},
		"resources": {"resources hello"},
		"read":      {"read hello petrock://project", "read file:///etc/motd -- some-server"},
		"prompts":   {"prompts hello"},
		"prompt":    {"prompt hello petrock_add_feature feature='a list of books'"},
	}
	env.About, env.Target = about, func() mcpcli.Target { return &target{env: env} }
	commands := mcpcli.Commands(env)
	for _, cmd := range commands {
		name, rest, _ := strings.Cut(cmd.Use, " ")
		cmd.Use = strings.Join(strings.Fields(name+" [SERVER] "+rest+" [-- COMMAND…]"), " ")
		for _, line := range examples[name] {
			cmd.Example += "\n  " + env.Program + " " + line
		}
		cmd.Args = checkArgs
	}
	return append(commands, newDoctor(env))
}

// checkArgs checks the number of arguments of a command, which may begin with a server or end with
// its command.
func checkArgs(cmd *cobra.Command, args []string) error {
	most, server := map[string]int{"read": 1, "call": math.MaxInt - 1, "prompt": math.MaxInt - 1}[cmd.Name()], 1
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args, server = args[:dash], 0
	}
	needed := map[string]string{"call": "TOOL, such as add", "read": "URI, such as note://1", "prompt": "NAME, such as review"}[cmd.Name()]
	switch {
	case needed != "" && len(args) == 0:
		return terminal.Usagef("%s needs %s", cmd.Name(), needed)
	case len(args) > most+server:
		return terminal.Usagef("unexpected argument %q: usage: %s", args[len(args)-1], cmd.Use)
	}
	return nil
}

// A target finds the server of a command line, by name, URL or command.
type target struct {
	env    mcpcli.Env
	common *mcpcli.Flags
	cmd    *cobra.Command

	headers               []string
	config, dir, revision string
	actor                 string // value of --as
	yes                   bool
}

// Flags implements [mcpcli.Target]. The command tools gets --all.
func (t *target) Flags(cmd *cobra.Command, common *mcpcli.Flags) {
	t.cmd, t.common = cmd, common
	cmd.ValidArgsFunction = t.complete
	flags := cmd.Flags()
	flags.StringArrayVar(&t.headers, "header", nil, "HTTP header `'Name: value'` to send with each request to a URL; may be repeated")
	flags.StringVar(&t.config, "config", "", "read this configuration `file` (default .mcp.json and the others named above)")
	flags.StringVar(&t.dir, "dir", ".", "`folder` to look for configuration files in, and to run a command in")
	flags.StringVar(&t.revision, "revision", "", "protocol `revision` (default the newest that both sides support)")
	flags.BoolVar(&t.yes, "yes", false, "do not ask before starting programs that a project's configuration file defines")
	cmd.MarkFlagDirname("dir")
	cmd.RegisterFlagCompletionFunc("revision", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return revisions(), cobra.ShellCompDirectiveNoFileComp
	})
	cmd.RegisterFlagCompletionFunc("header", cobra.NoFileCompletions)
	switch cmd.Name() {
	case "tools":
		t.addAll(cmd)
	case "call", "read", "prompt":
		flags.StringVar(&t.actor, "as", "", "call a project's server as this `ACTOR` instead of the local user, such as local:bob, to test what other callers may do")
		cmd.RegisterFlagCompletionFunc("as", cobra.NoFileCompletions)
	}
}

func revisions() []string {
	var all []string
	for _, r := range mcp.Revisions() {
		all = append(all, string(r))
	}
	return all
}

// check returns a usage error for wrong flags.
func (t *target) check() error {
	if t.revision != "" && !slices.Contains(revisions(), t.revision) {
		return terminal.Usagef("--revision %s: unsupported revision; use one of %s", t.revision, strings.Join(revisions(), ", "))
	}
	_, err := t.header()
	return err
}

// header parses --header.
func (t *target) header() (http.Header, error) {
	header := make(http.Header)
	for _, text := range t.headers {
		name, value, ok := strings.Cut(text, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t\r\n") || strings.ContainsAny(value, "\r\n") {
			return nil, terminal.Usagef("--header takes a name and a value, such as 'Authorization: Bearer TOKEN'")
		}
		header.Add(name, strings.TrimSpace(value))
	}
	return header, nil
}

// folder returns --dir as an absolute path.
func (t *target) folder() string {
	if filepath.IsAbs(t.dir) {
		return t.dir
	}
	return filepath.Join(t.env.Dir, t.dir)
}

// configuration reads the configuration files. If there are none, the error is a usage error that
// wraps [mcpconfig.ErrNone]. Unless quiet, it prints notices about ignored files, and the user is
// asked for inputs.
func (t *target) configuration(quiet bool) (*mcpconfig.Config, error) {
	var with mcpconfig.Options
	if !quiet {
		with.Input = t.input()
	}
	if t.config == "" {
		config, err := mcpconfig.Find(t.folder(), with)
		if errors.Is(err, mcpconfig.ErrNone) {
			err = terminal.Usagef("%w; pass a URL, or a command after --", err)
		}
		if err == nil && !quiet {
			for _, p := range config.Ignored {
				fmt.Fprintf(t.env.Err, "petrock: %s\n", terminal.Plain(p.Error()))
			}
		}
		return config, err
	}
	file := t.config
	if !filepath.IsAbs(file) {
		file = filepath.Join(t.env.Dir, file)
	}
	config, err := mcpconfig.Read(file, with)
	if err != nil {
		return nil, &terminal.UsageError{Err: fmt.Errorf("--config: %w", err)}
	}
	return config, nil
}

// input returns a function that asks for the inputs of .vscode/mcp.json, or nil without a terminal.
// The function does not ask for passwords, because the terminal would show them.
func (t *target) input() func(mcpconfig.Input) (string, error) {
	asker := mcpcli.NewAsker(t.env, &terminal.Progress{})
	if asker == nil {
		return nil
	}
	return func(in mcpconfig.Input) (string, error) {
		if in.Password {
			return "", fmt.Errorf("%w, because the terminal would show the password; set %s in the environment", mcpconfig.ErrCannotAsk, in.Variable())
		}
		text := cmp.Or(in.Description, in.ID)
		for _, option := range in.Options {
			text += "\n  " + option.Value
			if option.Label != option.Value {
				text += "  " + option.Label
			}
		}
		return asker.Line(context.Background(), text, in.Default)
	}
}

// servers returns the possible values of SERVER, for completion.
func (t *target) servers() []string {
	config, err := t.configuration(true)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(config.Names(), func(name string) bool { return terminal.Line(name) != name || strings.HasPrefix(name, "-") })
}

// complete completes a server, a name or an argument. It does not start programs: it uses the lists
// that earlier commands saved.
func (t *target) complete(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var all []string
	servers := t.servers()
	if len(args) == 0 {
		all = slices.DeleteFunc(slices.Clone(servers), func(name string) bool { return !strings.HasPrefix(name, prefix) })
	}
	// find gets the word being typed too: if it is a name, the word before it is the server.
	words := append(slices.Clone(args), cmp.Or(prefix, "?"))
	if t.shape() == nameArgs && len(args) == 1 && !strings.Contains(args[0], "://") && !slices.Contains(servers, args[0]) {
		words[1] = "?=" // it is an argument of the tool
	}
	server, rest, err := t.find(words, -1, true)
	if err != nil || len(rest) == 0 {
		return all, cobra.ShellCompDirectiveNoFileComp
	}
	found, directive := mcpcli.Complete(cmd.Name(), rest[:len(rest)-1], prefix, func(method, _ string) []json.RawMessage {
		return loadLists(server.Definition)[method]
	})
	return append(all, found...), directive
}

// Find implements [mcpcli.Target].
func (t *target) Find(ctx context.Context, words []string, dash int) (*mcpcli.Server, []string, error) {
	if err := t.check(); err != nil {
		return nil, nil, err
	}
	server, rest, err := t.find(words, dash, false)
	if err == nil {
		_, err = withActor(server, t.actor)
	}
	if err == nil {
		err = t.checkConsent(ctx, server, t.namesServer(words))
	}
	if err != nil {
		return nil, nil, err
	}
	return &mcpcli.Server{
		Name: server.Name,
		Connect: func(ctx context.Context, o client.Options) (*client.Client, func() error, error) {
			c, err := t.connect(ctx, server, o)
			if err != nil {
				return nil, nil, err
			}
			return c, func() error { c.Close(); return nil }, nil
		},
		Refuse: func(tool string) error {
			if allows(server, tool) {
				return nil
			}
			return terminal.Usagef("%s disables the tool %s; remove it from disabled_tools, or add it to enabled_tools", server.File, tool)
		},
	}, rest, nil
}

// connect connects to a server. It adds remedies to errors.
func (t *target) connect(ctx context.Context, server *mcpconfig.Server, o client.Options) (*client.Client, error) {
	o.Revision = mcp.Revision(t.revision)
	c, err := t.dial(ctx, server, o)
	if err == nil {
		return c, nil
	}
	if ctx.Err() != nil {
		return nil, mcpcli.ErrInterrupted
	}
	if refused, ok := errors.AsType[*clienthttp.HTTPError](err); ok && refused.Status == http.StatusUnauthorized {
		err = fmt.Errorf("%w; send credentials with --header 'Name: value', or with headers in a configuration file", err)
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		err = fmt.Errorf("%w; start the server first", err)
	}
	if server.Kind == mcpconfig.Stdio && server.Err == nil {
		err = fmt.Errorf("server %s: %w", terminal.Plain(server.Name), err)
	}
	return nil, &terminal.UnreachableError{Err: err}
}

// dial starts the server's program, or calls its URL. Headers of the configuration take precedence
// over --header. The default of o.ConnectTimeout is --timeout, or the timeout of the configuration
// if --timeout is not given.
func (t *target) dial(ctx context.Context, s *mcpconfig.Server, o client.Options) (*client.Client, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	header, err := t.header()
	if err != nil {
		return nil, err
	}
	maps.Copy(header, s.Header)
	o.Info, o.Timeout, o.MaxNotifications = t.env.Info, cmp.Or(o.Timeout, t.common.Timeout), maxNotifications
	o.Listed = func(method string, entries []json.RawMessage) { saveList(s.Definition, method, entries) }
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = t.common.Timeout
		if s.Timeout > 0 && !t.cmd.Flags().Changed("timeout") {
			o.ConnectTimeout = s.Timeout
		}
	}
	interrupted := ctx.Done()
	ctx, cancel := context.WithTimeoutCause(ctx, o.ConnectTimeout, fmt.Errorf("not ready within %v", o.ConnectTimeout))
	defer cancel()
	args, err := withActor(s, t.actor)
	if err != nil {
		return nil, err
	}
	if s.Kind == mcpconfig.Stdio {
		return client.Start(ctx, client.Command{Program: s.Command, Args: args, Env: s.Env, Dir: s.Dir, Stderr: t.stderr(), Interrupted: interrupted}, o)
	}
	return clienthttp.Dial(ctx, clienthttp.Server{URL: s.URL, DisplayURL: describe(s), Header: header, SSE: s.Kind == mcpconfig.SSE}, o)
}

// withActor returns the arguments of a server's program with --as, if actor is not empty: those of
// petrock dev, which passes it on, or of the command mcp of a project's server.
func withActor(s *mcpconfig.Server, actor string) ([]string, error) {
	if actor == "" {
		return s.Args, nil
	}
	name := terminal.Plain(s.Name)
	args, dash := s.Args, slices.Index(s.Args, "--")
	if dash >= 0 {
		args = args[:dash]
	}
	switch {
	case s.Kind != mcpconfig.Stdio:
		return nil, terminal.Usagef("--as: %s is called over HTTP, where the credentials determine the actor", name)
	case slices.Contains(args, "dev") && dash < 0:
		return append(slices.Clone(s.Args), "--", "--as="+actor), nil
	case slices.Contains(args, "dev"), slices.Contains(args, "mcp"):
		return append(slices.Clone(s.Args), "--as="+actor), nil
	}
	return nil, terminal.Usagef("--as: %s is started with neither petrock dev nor the command mcp of a project's server", name)
}

// allows reports whether a server's configuration enables a tool.
func allows(s *mcpconfig.Server, tool string) bool {
	if slices.Contains(s.DisabledTools, tool) {
		return false
	}
	return len(s.EnabledTools) == 0 || slices.Contains(s.EnabledTools, tool)
}

// Limits on the output of a server during one command.
const (
	maxNotifications = 100_000
	maxStderr        = 10 << 20 // bytes that --verbose shows
)

// stderr returns the destination of a server's standard error; nil discards it.
func (t *target) stderr() io.Writer {
	if t.common.Verbose {
		return newPlainWriter(t.env.Err, maxStderr)
	}
	return nil
}

// isURL reports whether a word is the URL of a server.
func isURL(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// isArgument reports whether a word is an argument of a tool or prompt.
func isArgument(word string) bool { return word == "-" || strings.Contains(word, "=") }

// A shape is the arguments that a command takes after the server.
type shape int

const (
	noArgs   shape = iota
	oneName        // the URI of a resource
	nameArgs       // a name, and arguments
)

func (t *target) shape() shape {
	return map[string]shape{"read": oneName, "call": nameArgs, "prompt": nameArgs}[t.cmd.Name()]
}

// namesServer reports whether the first word is a server.
func (t *target) namesServer(words []string) bool {
	switch shape := t.shape(); {
	case shape == noArgs:
		return len(words) > 0
	case len(words) < 2:
		return false
	case shape == oneName:
		return true
	}
	return (isURL(words[0]) || !isArgument(words[0])) && !isArgument(words[1])
}

// find returns the server of a command line, and the remaining words. See configuration for quiet.
func (t *target) find(words []string, dash int, quiet bool) (*mcpconfig.Server, []string, error) {
	if dash >= 0 {
		command := words[dash:]
		if len(command) == 0 {
			return nil, nil, terminal.Usagef("missing command after --, such as -- npx -y some-server")
		}
		if len(t.headers) > 0 {
			return nil, nil, terminal.Usagef("--header is for URLs; a command takes arguments and environment variables")
		}
		return t.program(command), words[:dash], nil
	}
	if !t.namesServer(words) {
		server, err := t.defaultServer(words, quiet)
		return server, words, err
	}
	if isURL(words[0]) {
		return &mcpconfig.Server{Name: words[0], Kind: mcpconfig.HTTP, URL: words[0], Definition: urlDefinition(words[0])}, words[1:], nil
	}
	config, err := t.configuration(quiet)
	if err != nil {
		if errors.Is(err, mcpconfig.ErrNone) {
			err = fmt.Errorf("unknown MCP server %q: %w", words[0], err)
		}
		return nil, nil, err
	}
	server, err := config.Server(words[0])
	if errors.Is(err, mcpconfig.ErrUnknown) && strings.ContainsAny(words[0], ":/") && !strings.Contains(words[0], "://") {
		return nil, nil, terminal.Usagef("%w; if it is a URL, write http://%s", err, words[0])
	}
	if errors.Is(err, mcpconfig.ErrUnknown) {
		return nil, nil, terminal.Usagef("%w; or pass a URL, or a command after --", err)
	}
	return server, words[1:], nil // dial returns server.Err
}

// program returns the server that a command starts.
func (t *target) program(command []string) *mcpconfig.Server {
	return &mcpconfig.Server{Name: filepath.Base(command[0]), Kind: mcpconfig.Stdio, Unexpanded: command, Command: command[0], Args: command[1:], Dir: t.folder()}
}

// defaultServer returns the server of a command line without SERVER: the server of the project, or
// the only one. The words are a tool, resource or prompt, and its arguments.
func (t *target) defaultServer(words []string, quiet bool) (*mcpconfig.Server, error) {
	config, err := t.configuration(quiet)
	if errors.Is(err, mcpconfig.ErrNone) {
		return nil, fmt.Errorf("no SERVER given, and %w", err)
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
	if best == "" && len(words) > 0 && slices.Contains(names, words[0]) {
		missing := map[string]string{"call": "tool", "read": "resource", "prompt": "prompt"}[t.cmd.Name()]
		return nil, terminal.Usagef("%s is a server; pass a %s too", words[0], missing)
	}
	if best == "" {
		err := fmt.Errorf("no SERVER given; %s defines %s; pass one of them, a URL, or a command after --", strings.Join(config.Files, ", "), strings.Join(names, ", "))
		if len(names) == 0 {
			err = fmt.Errorf("no SERVER given, and %s defines none; pass a URL, or a command after --", strings.Join(config.Files, ", "))
		}
		var all []error
		for _, p := range slices.Concat(config.Problems, config.Ignored) {
			all = append(all, p)
		}
		return nil, &terminal.UsageError{Err: errors.Join(append(all, err)...)}
	}
	server, _ := config.Server(best)
	return server, nil
}
