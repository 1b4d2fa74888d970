package mcpcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/cmd/petrock/internal/mcpconfig"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

func newDoctor(env Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "doctor [SERVER] [-- COMMAND…]",
		Short: "Check the MCP servers of the configuration files",
		Long: `Check the MCP servers of the configuration files here or in a folder above: read the files as their clients do, start every server in
each way that a file has it, speak to it in both eras of the protocol, and say what is wrong and how to mend it. With a SERVER only
that one is checked.

` + servers + `

It ends with 0 if all is well, with 1 if something is wrong, with 2 if it was asked for in a wrong way. Notes, which are
marked as such, are nothing wrong.`,
		Example:           examples(env, "doctor", "doctor --json", "doctor petrock", "doctor http://127.0.0.1:8181/mcp", "doctor -- npx -y some-server"),
		Args:              words(nothing),
		ValidArgsFunction: completer(env, &o, nothing, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return said(env, &o, func() error {
				if err := o.check(cmd); err != nil {
					return err
				}
				d, err := o.patients(env, args, cmd.ArgsLenAtDash())
				if err != nil {
					return err
				}
				ctx, stop := interruptible(cmd.Context())
				defer stop()
				progress := terminal.NewProgress(env.Err, o.verbose)
				progress.Begin("checking " + count(len(d.Servers), "server"))
				d.examine(ctx, env, &o)
				progress.End()
				if ctx.Err() != nil {
					return errInterrupted
				}
				return d.print(env, &o)
			})
		},
	}
	o.flags(cmd)
	return cmd
}

// A diagnosis is what is known of all servers.
type diagnosis struct {
	OK       bool       `json:"ok"`
	Dir      string     `json:"dir"`                // that the files are in
	Files    []string   `json:"files"`              // seen from there
	Problems []string   `json:"problems,omitempty"` // of files as a whole
	Servers  []*checkup `json:"servers"`
}

// patients finds the servers to check, or the one that is named: each name once for each way in which files have it.
func (o *options) patients(env Env, args []string, dash int) (*diagnosis, error) {
	d := &diagnosis{Dir: o.folder(env), Files: []string{}, Servers: []*checkup{}}
	named := ""
	if dash >= 0 || len(args) > 0 {
		server, _, err := o.target(env, args, dash, nothing)
		if err != nil {
			return nil, err
		}
		if dash >= 0 || isAddress(args[0]) {
			d.add("", server)
			return d, nil
		}
		named = args[0]
	}
	config, err := o.configuration(env)
	if errors.Is(err, mcpconfig.ErrNone) && len(env.Self) > 0 {
		d.add("", o.program(env, env.Self))
		return d, nil
	}
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
		one, err := mcpconfig.Read(file, mcpconfig.Options{Input: inputFrom(env)})
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

// within is a path as seen from a folder, if it is below it.
func within(dir, path string) string {
	if short, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

// add adds a server as a file has it, unless another has it in the same way.
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

// signature tells servers apart that are not started in the same way.
func signature(s *mcpconfig.Server) string {
	env := map[string]string{}
	for name, value := range s.Env {
		if name != "CLAUDE_PROJECT_DIR" { // which one of the clients adds
			env[name] = value
		}
	}
	text, err := json.Marshal([]any{s.Kind, s.Command, s.Args, env, s.Dir, s.URL, s.Header, s.Disabled})
	if err != nil {
		return s.File
	}
	return string(text)
}

// examine checks all servers at once.
func (d *diagnosis) examine(ctx context.Context, env Env, o *options) {
	var all sync.WaitGroup
	for _, c := range d.Servers {
		all.Go(func() { c.examine(ctx, env, o) })
	}
	all.Wait()
	d.compare()
	d.OK = len(d.Problems) == 0 && !slices.ContainsFunc(d.Servers, func(c *checkup) bool { return len(c.Wrong) > 0 })
}

// compare notes where a name means another server in another file.
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

// print says what was found.
func (d *diagnosis) print(env Env, o *options) error {
	if o.json(env) {
		if err := printJSON(env.Out, d); err != nil {
			return err
		}
	} else if err := newPrinter(env, o).diagnosis(d); err != nil {
		return err
	}
	if d.OK {
		return nil
	}
	return &terminal.SaidError{Err: errors.New("something is wrong with the servers")}
}

func (p *printer) diagnosis(d *diagnosis) error {
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
	return p.text(plain(b.String()))
}

// String says a checkup for people.
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

// eras says which revisions are spoken.
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
