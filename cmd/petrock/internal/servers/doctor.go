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
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/cli"
)

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
	if flags.JSON {
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

func indent(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
