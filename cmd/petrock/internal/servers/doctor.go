package servers

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
	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/terminal"
)

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
		Args:    mcpcli.NoWords.Args(true),
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
		server, _, err := t.find(args, dash, mcpcli.NoWords)
		if err != nil {
			return nil, err
		}
		if dash >= 0 || isURL(args[0]) {
			d.add("", server)
			return d, nil
		}
		named = args[0]
	}
	config, err := t.configuration(t.input())
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
	} else if err := mcpcli.NewPrinter(env, flags).Text(terminal.Plain(d.String())); err != nil {
		return err
	}
	if d.OK {
		return nil
	}
	return &terminal.SaidError{Err: errors.New("something is wrong with the servers")}
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
