package servers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/petrock/petrock/cmd/petrock/internal/mcpconfig"
	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
)

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

// maxShown is the number of bytes that a message shows of a text.
const maxShown = 80

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
