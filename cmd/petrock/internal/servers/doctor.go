package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/cmd/petrock/internal/mcpconfig"
	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/cli"
)

// maxShown is how many bytes of a text a message shows.
const maxShown = 80

func newDoctor(env mcpcli.Env) *cobra.Command {
	t, flags := &target{env: env}, &mcpcli.Flags{}
	cmd := &cobra.Command{
		Use:   "doctor [SERVER] [-- COMMAND…]",
		Short: "Check the MCP servers of the configuration files",
		Long: `Check the MCP servers of the configuration files in this folder or one above it: read the files as their clients do, start
every server in each way that a file describes, speak both eras of the protocol with it, and print what is wrong and how
to fix it. With SERVER only that one is checked.

` + about + `

Exit codes: 0 all is well; 1 something is wrong; 2 usage error. Notes do not count as wrong.`,
		Example: "  petrock doctor\n  petrock doctor --json\n  petrock doctor petrock\n  petrock doctor http://127.0.0.1:8181/mcp\n  petrock doctor -- npx -y some-server",
		Args:    mcpcli.NoArgs.Args(true),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return t.Servers(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return mcpcli.Report(env, flags, func() error {
				if err := errors.Join(flags.Check(), t.check()); err != nil {
					return err
				}
				d, err := t.patients(args, cmd.ArgsLenAtDash())
				if err != nil {
					return err
				}
				ctx, stop := mcpcli.Interruptible(cmd.Context())
				defer stop()
				for _, c := range d.Servers {
					if c.server.Disabled {
						continue
					}
					if err := t.consent(ctx, c.server, len(args) > 0); err != nil {
						c.server.Err = err
					}
				}
				progress := terminal.NewProgress(env.Err, flags.Verbose)
				progress.Begin("checking " + count(len(d.Servers), "server"))
				d.examine(ctx, t)
				progress.End()
				if ctx.Err() != nil {
					return mcpcli.ErrInterrupted
				}
				return d.print(env, flags)
			})
		},
	}
	flags.Add(cmd)
	t.Flags(cmd, flags)
	return cmd
}

// A diagnosis is the result of checking servers.
type diagnosis struct {
	OK       bool       `json:"ok"`
	Dir      string     `json:"dir"`                // the folder of the files
	Files    []string   `json:"files"`              // relative to it
	Problems []string   `json:"problems,omitempty"` // files that cannot be read
	Servers  []*checkup `json:"servers"`
}

// patients returns the servers to check, or the one that is named. A name that files describe in several ways is there several times.
func (t *target) patients(args []string, dash int) (*diagnosis, error) {
	d := &diagnosis{Dir: t.folder(), Files: []string{}, Servers: []*checkup{}}
	named := ""
	if dash >= 0 || len(args) > 0 {
		server, _, err := t.find(args, dash, mcpcli.NoArgs, true)
		if err != nil {
			return nil, err
		}
		if dash >= 0 || isURL(args[0]) {
			d.add("", server)
			return d, nil
		}
		named = args[0]
	}
	config, err := t.configuration(false)
	if err != nil {
		return nil, err
	}
	d.Dir = config.Dir
	if named == "" {
		for _, p := range config.Problems {
			d.Problems = append(d.Problems, p.Error())
		}
	}
	for _, file := range config.Files {
		d.Files = append(d.Files, within(config.Dir, file))
		one, err := mcpconfig.Read(file, mcpconfig.Options{Input: t.input()})
		if err != nil {
			continue // it is among the problems
		}
		for _, server := range one.Servers() {
			if named == "" || server.Name == named {
				d.add(within(config.Dir, file), server)
			}
		}
	}
	return d, nil
}

// within returns a path relative to dir if it is below dir.
func within(dir, path string) string {
	if short, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

// add adds a server as a file describes it, unless another file describes it in the same way.
func (d *diagnosis) add(file string, server *mcpconfig.Server) {
	for _, c := range d.Servers {
		if c.Name == server.Name && server.Err == nil && c.server.Err == nil && signature(c.server) == signature(server) {
			c.Files = append(c.Files, file)
			return
		}
	}
	c := &checkup{Name: server.Name, Kind: server.Kind, server: server}
	if file != "" {
		c.Files = []string{file}
	}
	d.Servers = append(d.Servers, c)
}

// signature is equal for servers that are started in the same way.
func signature(s *mcpconfig.Server) string {
	env := map[string]string{}
	for name, value := range s.Env {
		if name != "CLAUDE_PROJECT_DIR" { // Claude Code adds it
			env[name] = value
		}
	}
	text, err := json.Marshal([]any{s.Kind, s.Command, s.Args, env, s.Dir, s.URL, s.Header, s.Disabled})
	if err != nil {
		return s.File
	}
	return string(text)
}

// examine checks all servers in parallel.
func (d *diagnosis) examine(ctx context.Context, t *target) {
	var all sync.WaitGroup
	for _, c := range d.Servers {
		all.Go(func() { c.examine(ctx, t) })
	}
	all.Wait()
	d.compare()
	d.OK = len(d.Problems) == 0 && !slices.ContainsFunc(d.Servers, func(c *checkup) bool { return len(c.Wrong) > 0 })
}

// compare adds notes on names that mean different servers in different files.
func (d *diagnosis) compare() {
	first := map[string]*checkup{}
	for _, c := range d.Servers {
		other := first[c.Name]
		switch {
		case c.State != "ok":
		case other == nil:
			first[c.Name] = c
		case other.Server.Name != c.Server.Name || !slices.Equal(other.names, c.names):
			c.note("%s has another server of this name: %s with %s, and not %s with %s; give one of them another name",
				strings.Join(other.Files, ", "), other.Server.Name, count(len(other.names), "tool"), c.Server.Name, count(len(c.names), "tool"))
		}
	}
}

// print prints the diagnosis.
func (d *diagnosis) print(env mcpcli.Env, flags *mcpcli.Flags) error {
	if flags.PrintsJSON(env.Out) {
		if err := terminal.PrintJSON(env.Out, d); err != nil {
			return err
		}
	} else if err := cli.PrintReport(env.Out, d); err != nil {
		return err
	}
	if d.OK {
		return nil
	}
	return &terminal.ReportedError{Err: errors.New("something is wrong with the servers")}
}

// String returns the diagnosis as text.
func (d *diagnosis) String() string {
	var b strings.Builder
	for _, problem := range d.Problems {
		b.WriteString("wrong: " + indented(problem) + "\n")
	}
	for _, c := range d.Servers {
		b.WriteString(c.String())
	}
	if len(d.Servers) == 0 {
		b.WriteString("There are no servers in " + strings.Join(d.Files, ", ") + ".\n")
	}
	return b.String()
}

// String returns the checkup as text.
func (c *checkup) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", c.Name, c.State)
	if len(c.Files) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(c.Files, ", "))
	}
	b.WriteString("\n")
	if c.Server != nil {
		fmt.Fprintf(&b, "  %s speaks %s, ready after %.1f s: %s, %s, %s\n", strings.TrimSpace(c.Server.Name+" "+c.Server.Version), c.eras(), c.Seconds,
			count(c.Tools, "tool"), count(c.Resources, "resource"), count(c.Prompts, "prompt"))
	}
	for _, text := range c.Wrong {
		b.WriteString("  wrong: " + indented(text) + "\n")
	}
	for _, text := range c.Notes {
		b.WriteString("  note: " + indented(text) + "\n")
	}
	return b.String()
}

// eras describes the revisions that the server speaks.
func (c *checkup) eras() string {
	switch {
	case c.Handshake == "":
		return string(c.Stateless) + " (and no older revision)"
	case c.Stateless == "":
		return string(c.Handshake) + " (not " + string(mcp.Latest) + " yet)"
	}
	return string(c.Stateless) + " and " + string(c.Handshake)
}

func indented(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// A checkup is the result of checking one server, as one or several files describe it.
type checkup struct {
	Name      string              `json:"name"`
	Files     []string            `json:"files,omitempty"`
	Kind      mcpconfig.Kind      `json:"kind,omitempty"`
	State     string              `json:"state"` // ok, wrong, disabled, or unchecked if its client would ask the user for input
	Server    *mcp.Implementation `json:"server,omitempty"`
	Stateless mcp.Revision        `json:"stateless,omitempty"` // the revision without sessions that it speaks, if it does
	Handshake mcp.Revision        `json:"handshake,omitempty"` // the one with a handshake, if it does
	Seconds   float64             `json:"seconds"`             // until it was ready
	Tools     int                 `json:"tools"`
	Resources int                 `json:"resources"` // with resource templates
	Prompts   int                 `json:"prompts"`
	Wrong     []string            `json:"wrong,omitempty"`
	Notes     []string            `json:"notes,omitempty"`

	server *mcpconfig.Server
	names  []string // of the tools
}

func (c *checkup) wrong(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(c.Wrong, text) {
		c.Wrong = append(c.Wrong, text)
	}
}

func (c *checkup) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// otherEra limits how long a server may take to answer in its other era.
const otherEra = 10 * time.Second

// examine checks the server.
func (c *checkup) examine(ctx context.Context, t *target) {
	c.State = "ok"
	if c.server.Disabled {
		c.State = "disabled"
		return
	}
	defer func() {
		if len(c.Wrong) > 0 {
			c.State = "wrong"
		}
	}()
	if onlyUnasked(c.server.Err) {
		c.State = "unchecked"
		c.note("not started, because its client asks the user for input: %v", c.server.Err)
		return
	}
	if c.server.Err != nil {
		c.wrong("%v", c.server.Err)
		return
	}
	heard := &complaints{}
	begin := time.Now()
	client, err := t.dial(ctx, c.server, client.Options{Revision: mcp.Revision(t.revision), Logger: slog.New(heard)})
	c.Seconds = time.Since(begin).Seconds()
	if err != nil {
		c.wrong("%s", c.advice(err))
		return
	}
	server := client.Server()
	c.Server = &server
	c.spoken(client.Revision())
	c.look(ctx, client)
	supported := client.Supported()
	client.Close()
	if t.revision == "" {
		c.tryOther(ctx, t, supported, heard)
	}
	for _, text := range heard.all() {
		c.wrong("%s", text)
	}
}

// onlyUnasked reports whether missing input of the user is the only error.
func onlyUnasked(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(several.Unwrap(), func(err error) bool { return !errors.Is(err, mcpconfig.ErrUnasked) })
	}
	return errors.Is(err, mcpconfig.ErrUnasked)
}

// spoken records a revision that the server speaks.
func (c *checkup) spoken(r mcp.Revision) {
	if r > mcp.LatestHandshake {
		c.Stateless = r
	} else {
		c.Handshake = r
	}
}

// tryOther finds out whether the server also speaks the other era, which is optional.
func (c *checkup) tryOther(ctx context.Context, t *target, supported []mcp.Revision, heard *complaints) {
	wish := mcp.Latest
	if c.Stateless != "" {
		wish = mcp.LatestHandshake
		for _, r := range mcp.HandshakeRevisions() {
			if slices.Contains(supported, r) {
				wish = r // the newest, in the end
			}
		}
	}
	client, err := t.dial(ctx, c.server, client.Options{Revision: wish, ConnectTimeout: otherEra, Logger: slog.New(heard)})
	if err != nil {
		return
	}
	c.spoken(client.Revision())
	client.Close()
}

// look lists and checks tools, resources and prompts.
func (c *checkup) look(ctx context.Context, client *client.Client) {
	tools, err := client.Tools(ctx)
	if err != nil {
		c.wrong("listing its tools: %v", err)
	}
	resources, err := client.Resources(ctx)
	if err != nil {
		c.wrong("listing its resources: %v", err)
	}
	templates, err := client.ResourceTemplates(ctx)
	if err != nil {
		c.wrong("listing its resource templates: %v", err)
	}
	prompts, err := client.Prompts(ctx)
	if err != nil {
		c.wrong("listing its prompts: %v", err)
	}
	c.Tools, c.Resources, c.Prompts = len(tools), len(resources)+len(templates), len(prompts)
	good := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	for _, t := range tools {
		switch {
		case slices.Contains(c.names, t.Name):
			c.wrong("two of its tools are called %q; clients can call one of them at most", strictjson.Clip(t.Name, maxShown))
		case !good.MatchString(t.Name):
			c.wrong("clients refuse a tool called %q: a name is of 1 to 64 letters, digits, _ and -; give it another in the server", strictjson.Clip(t.Name, maxShown))
		}
		c.names = append(c.names, t.Name)
		if _, err := schema.Compile(string(t.InputSchema)); err != nil {
			c.note("the input schema of %s cannot be read here, so that what it is given is checked by the server alone: %v", strictjson.Clip(t.Name, maxShown), err)
		}
		if t.OutputSchema == nil {
			continue
		}
		if _, err := schema.Compile(string(t.OutputSchema)); err != nil {
			c.note("the output schema of %s cannot be read here: %v", strictjson.Clip(t.Name, maxShown), err)
		}
	}
	for _, name := range slices.Concat(c.server.DisabledTools, c.server.EnabledTools) {
		if err == nil && !slices.Contains(c.names, name) {
			c.note("%s names a tool %q, which the server does not have", c.server.File, name)
		}
	}
}

// advice returns the text of an error with the remedy.
func (c *checkup) advice(err error) string {
	text := err.Error()
	var refused *clienthttp.HTTPError
	switch {
	case errors.As(err, &refused):
		text += "\n" + c.httpAdvice(refused)
	case errors.Is(err, syscall.ECONNREFUSED):
		text += "\nNothing listens there. Start the server first, or correct url."
	case c.Kind == mcpconfig.Stdio && !strings.Contains(text, "starting ") && !strings.Contains(text, "Its standard error"):
		text += "\nStart it by hand, and see what it says: " + shown(c.server)
	}
	return strings.TrimSpace(text)
}

func (c *checkup) httpAdvice(e *clienthttp.HTTPError) string {
	where := "in its configuration"
	if len(c.Files) > 0 {
		where = "in " + c.Files[0]
	}
	switch {
	case e.Status == http.StatusUnauthorized && c.server.Header.Get("Authorization") == "":
		return `It wants to know who calls. Add "headers": {"Authorization": "Bearer ${TOKEN}"} to the server ` + where + `, or the header that it documents, and set the variable.`
	case e.Status == http.StatusUnauthorized:
		return "It does not accept what the header Authorization has " + where + ". Look whether the key or token is right, and still good."
	case e.Status == http.StatusForbidden:
		return "It was reached, and does not let this client in: look at what the key or token may do, and at which hosts and origins the server allows."
	case e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed:
		return "There is no MCP at this path. Look at the url " + where + "; many servers have it at /mcp."
	}
	return "Look at the url " + where + ", and at what the server logs."
}

// complaints is a log handler that collects each warning once.
type complaints struct {
	mu    sync.Mutex
	texts []string
}

// Enabled implements [slog.Handler].
func (c *complaints) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// WithAttrs implements [slog.Handler].
func (c *complaints) WithAttrs([]slog.Attr) slog.Handler { return c }

// WithGroup implements [slog.Handler].
func (c *complaints) WithGroup(string) slog.Handler { return c }

// Handle implements [slog.Handler].
func (c *complaints) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf("; %s: %s", a.Key, strictjson.Clip(a.Value.String(), maxShown))
		return true
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.texts, text) {
		c.texts = append(c.texts, text)
	}
	return nil
}

func (c *complaints) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.texts)
}
