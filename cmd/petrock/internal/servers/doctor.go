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
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/cli"
)

// maxShown is the number of bytes that a message shows of a text.
const maxShown = 80

func newDoctor(env mcpcli.Env) *cobra.Command {
	t, flags := &target{env: env}, &mcpcli.Flags{}
	cmd := &cobra.Command{
		Use:   "doctor [SERVER] [-- COMMAND…]",
		Short: "Check the MCP servers of the configuration files",
		Long: `Check all MCP servers of the configuration files, or only SERVER. doctor reads each file as its client
does, starts each server, speaks the old (initialize) and the new (` + string(mcp.Latest) + `) protocol with it, lists
its tools, resources and prompts, and prints errors with their remedies. If files define a server
differently, doctor checks each definition.

` + aboutServer + "\n\n" + aboutConsent + `

Exit codes: 0 success, 1 an error was found, 2 usage error. Notes are not errors.`,
		Example: "  petrock doctor\n  petrock doctor --json\n  petrock doctor petrock\n  petrock doctor http://127.0.0.1:8181/mcp\n  petrock doctor -- npx -y some-server",
		Args:    checkArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return mcpcli.Report(env, flags, func() error {
				if err := errors.Join(flags.Check(), t.check()); err != nil {
					return err
				}
				d, err := t.newDiagnosis(args, cmd.ArgsLenAtDash())
				if err != nil {
					return err
				}
				ctx, stop := mcpcli.Interruptible(cmd.Context())
				defer stop()
				for _, c := range d.Servers {
					if c.server.Disabled {
						continue
					}
					if err := t.checkConsent(ctx, c.server, len(args) > 0); err != nil {
						c.server.Err = err
					}
				}
				progress := &terminal.Progress{Out: env.Err, Quiet: flags.Verbose}
				progress.Begin("checking " + count(len(d.Servers), "server"))
				d.check(ctx, t)
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
	Dir      string     `json:"dir"`
	Files    []string   `json:"files"`              // relative to Dir
	Problems []string   `json:"problems,omitempty"` // files that cannot be read
	Servers  []*checkup `json:"servers"`
}

// newDiagnosis returns a diagnosis with the servers to check: all, or the server on the command
// line. A server that files define differently occurs several times.
func (t *target) newDiagnosis(args []string, dash int) (*diagnosis, error) {
	d := &diagnosis{Dir: t.folder(), Files: []string{}, Servers: []*checkup{}}
	named := ""
	if dash >= 0 || len(args) > 0 {
		server, _, err := t.find(args, dash, true)
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
		d.Files = append(d.Files, relativeTo(config.Dir, file))
		one, err := mcpconfig.Read(file, mcpconfig.Options{Input: t.input()})
		if err != nil {
			continue // config.Problems has the error
		}
		for _, server := range one.Servers() {
			if named == "" || server.Name == named {
				d.add(relativeTo(config.Dir, file), server)
			}
		}
	}
	return d, nil
}

// relativeTo returns a path relative to dir if it is below dir.
func relativeTo(dir, path string) string {
	if short, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

// add adds the definition of a server in a file, unless another file has the same definition.
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

// signature returns the same text for servers that are started in the same way.
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

// check checks all servers in parallel.
func (d *diagnosis) check(ctx context.Context, t *target) {
	var all sync.WaitGroup
	for _, c := range d.Servers {
		all.Go(func() { c.check(ctx, t) })
	}
	all.Wait()
	d.compare()
	d.OK = len(d.Problems) == 0 && !slices.ContainsFunc(d.Servers, func(c *checkup) bool { return len(c.Wrong) > 0 })
}

// compare adds a note for each name that different files use for different servers.
func (d *diagnosis) compare() {
	first := map[string]*checkup{}
	for _, c := range d.Servers {
		other := first[c.Name]
		switch {
		case c.State != "ok":
		case other == nil:
			first[c.Name] = c
		case other.Server.Name != c.Server.Name || !slices.Equal(other.names, c.names):
			c.note("%s defines a different server with this name: %s with %s, not %s with %s; rename one of them",
				strings.Join(other.Files, ", "), other.Server.Name, count(len(other.names), "tool"), c.Server.Name, count(len(c.names), "tool"))
		}
	}
}

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
	return &terminal.ReportedError{Err: errors.New("doctor found errors")}
}

// String returns the diagnosis as text.
func (d *diagnosis) String() string {
	var b strings.Builder
	for _, problem := range d.Problems {
		b.WriteString("wrong: " + indent(problem) + "\n")
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
		b.WriteString("  wrong: " + indent(text) + "\n")
	}
	for _, text := range c.Notes {
		b.WriteString("  note: " + indent(text) + "\n")
	}
	return b.String()
}

// eras returns the revisions that the server speaks, as text.
func (c *checkup) eras() string {
	switch {
	case c.Handshake == "":
		return string(c.Stateless) + " (no older revision)"
	case c.Stateless == "":
		return string(c.Handshake) + " (not " + string(mcp.Latest) + ")"
	}
	return string(c.Stateless) + " and " + string(c.Handshake)
}

func indent(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// A checkup is the result of checking one definition of a server, which several files can share.
type checkup struct {
	Name      string              `json:"name"`
	Files     []string            `json:"files,omitempty"`
	Kind      mcpconfig.Kind      `json:"kind,omitempty"`
	State     string              `json:"state"` // ok, wrong, disabled, or unchecked if it needs input from the user
	Server    *mcp.Implementation `json:"server,omitempty"`
	Stateless mcp.Revision        `json:"stateless,omitempty"` // the stateless revision that it speaks, if any
	Handshake mcp.Revision        `json:"handshake,omitempty"` // the newest handshake revision that it speaks, if any
	Seconds   float64             `json:"seconds"`             // until it was ready
	Tools     int                 `json:"tools"`
	Resources int                 `json:"resources"` // including resource templates
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

// otherEraTimeout is the timeout for connecting in the second protocol era.
const otherEraTimeout = 10 * time.Second

func (c *checkup) check(ctx context.Context, t *target) {
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
	if needsOnlyInput(c.server.Err) {
		c.State = "unchecked"
		c.note("not started, because its client asks the user for input: %v", c.server.Err)
		return
	}
	if c.server.Err != nil {
		c.wrong("%v", c.server.Err)
		return
	}
	heard := &warnings{}
	begin := time.Now()
	client, err := t.dial(ctx, c.server, client.Options{Revision: mcp.Revision(t.revision), Logger: slog.New(heard)})
	c.Seconds = time.Since(begin).Seconds()
	if err != nil {
		c.wrong("%s", c.withRemedy(err))
		return
	}
	server := client.Server()
	c.Server = &server
	c.addRevision(client.Revision())
	c.checkLists(ctx, client)
	supported := client.Supported()
	client.Close()
	if t.revision == "" {
		c.tryOtherEra(ctx, t, supported, heard)
	}
	for _, text := range heard.all() {
		c.wrong("%s", text)
	}
}

// needsOnlyInput reports whether missing input from the user is the only error.
func needsOnlyInput(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(several.Unwrap(), func(err error) bool { return !errors.Is(err, mcpconfig.ErrCannotAsk) })
	}
	return errors.Is(err, mcpconfig.ErrCannotAsk)
}

// addRevision records a revision that the server speaks.
func (c *checkup) addRevision(r mcp.Revision) {
	if r > mcp.LatestHandshake {
		c.Stateless = r
	} else {
		c.Handshake = r
	}
}

// tryOtherEra checks whether the server also speaks the other era. It is not an error if it does
// not.
func (c *checkup) tryOtherEra(ctx context.Context, t *target, supported []mcp.Revision, heard *warnings) {
	revision := mcp.Latest
	if c.Stateless != "" {
		revision = mcp.LatestHandshake
		for _, r := range mcp.HandshakeRevisions() { // oldest first
			if slices.Contains(supported, r) {
				revision = r
			}
		}
	}
	client, err := t.dial(ctx, c.server, client.Options{Revision: revision, ConnectTimeout: otherEraTimeout, Logger: slog.New(heard)})
	if err != nil {
		return
	}
	c.addRevision(client.Revision())
	client.Close()
}

// toolName matches the tool names that all clients accept.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkLists lists and checks tools, resources and prompts.
func (c *checkup) checkLists(ctx context.Context, client *client.Client) {
	tools, toolsErr := client.Tools(ctx)
	if toolsErr != nil {
		c.wrong("list tools: %v", toolsErr)
	}
	resources, err := client.Resources(ctx)
	if err != nil {
		c.wrong("list resources: %v", err)
	}
	templates, err := client.ResourceTemplates(ctx)
	if err != nil {
		c.wrong("list resource templates: %v", err)
	}
	prompts, err := client.Prompts(ctx)
	if err != nil {
		c.wrong("list prompts: %v", err)
	}
	c.Tools, c.Resources, c.Prompts = len(tools), len(resources)+len(templates), len(prompts)
	for _, t := range tools {
		switch {
		case slices.Contains(c.names, t.Name):
			c.wrong("duplicate tool name %q; rename one of the tools in the server", strictjson.Clip(t.Name, maxShown))
		case !toolName.MatchString(t.Name):
			c.wrong("clients reject the tool name %q; rename the tool in the server, with 1 to 64 letters, digits, _ and -", strictjson.Clip(t.Name, maxShown))
		}
		c.names = append(c.names, t.Name)
		if _, err := schema.Compile(t.InputSchema); err != nil {
			c.note("tool %s: petrock cannot read the input schema, so only the server checks arguments: %v", strictjson.Clip(t.Name, maxShown), err)
		}
		if t.OutputSchema == nil {
			continue
		}
		if _, err := schema.Compile(t.OutputSchema); err != nil {
			c.note("tool %s: petrock cannot read the output schema: %v", strictjson.Clip(t.Name, maxShown), err)
		}
	}
	for _, name := range slices.Concat(c.server.DisabledTools, c.server.EnabledTools) {
		if toolsErr == nil && !slices.Contains(c.names, name) {
			c.note("%s names a tool %q, which the server does not have", c.server.File, name)
		}
	}
}

func (c *checkup) withRemedy(err error) string {
	text := err.Error()
	var refused *clienthttp.HTTPError
	var failed *client.ProcessError
	switch {
	case errors.As(err, &refused):
		text += "\n" + c.httpRemedy(refused)
	case errors.Is(err, syscall.ECONNREFUSED):
		text += "\nThe server is not running at this URL. Start it, or correct the url."
	case errors.As(err, &failed) && failed.Stderr == "":
		text += "\nTo see its output, run it in a shell: " + describe(c.server)
	}
	return strings.TrimSpace(text)
}

func (c *checkup) httpRemedy(e *clienthttp.HTTPError) string {
	where := "in its configuration"
	if len(c.Files) > 0 {
		where = "in " + c.Files[0]
	}
	switch {
	case e.Status == http.StatusUnauthorized && c.server.Header.Get("Authorization") == "":
		return `The server requires authentication. Add "headers": {"Authorization": "Bearer ${TOKEN}"}, or the header that it documents, to the server ` + where + `, and set the variable.`
	case e.Status == http.StatusUnauthorized:
		return "The server rejects the Authorization header " + where + ". Check that the key or token is correct and has not expired."
	case e.Status == http.StatusForbidden:
		return "The server denies access. Check the permissions of the key or token, and the hosts and origins that the server allows."
	case e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed:
		return "There is no MCP server at this path. Check the url " + where + "; many servers use /mcp."
	}
	return "Check the url " + where + ", and the log of the server."
}

// warnings is a log handler that collects each warning once.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// Enabled implements [slog.Handler].
func (w *warnings) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// WithAttrs implements [slog.Handler].
func (w *warnings) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements [slog.Handler].
func (w *warnings) WithGroup(string) slog.Handler { return w }

// Handle implements [slog.Handler].
func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf("; %s: %s", a.Key, strictjson.Clip(a.Value.String(), maxShown))
		return true
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
	return nil
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.texts)
}
