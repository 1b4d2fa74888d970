package mcpcli

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/cmd/petrock/internal/mcpconfig"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

// defaultTimeout is how long a server may take to start, and to answer: long enough for one that is compiled first.
const defaultTimeout = time.Minute

// options are what the commands share.
type options struct {
	asJSON, asText bool
	verbose        bool
	timeout        time.Duration
	headers        []string
	config         string
	dir            string
	revision       string

	timeoutGiven bool
}

func (o *options) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.asJSON, "json", false, "print JSON, as it is where nobody looks on")
	flags.BoolVar(&o.asText, "text", false, "print text for people, as it is on a terminal")
	flags.BoolVar(&o.verbose, "verbose", false, "show what the server writes to its standard error, as it comes")
	flags.DurationVar(&o.timeout, "timeout", defaultTimeout, "how long the server may take to start, and to answer or to say how far it has come")
	flags.StringArrayVar(&o.headers, "header", nil, "`'Name: value'` to send to an address with each request; may be repeated")
	flags.StringVar(&o.config, "config", "", "the configuration `file` that names servers (default those of the folder or one above it)")
	flags.StringVar(&o.dir, "dir", "", "the folder to look for configuration files in, and to run a command in (default the working directory)")
	flags.StringVar(&o.revision, "revision", "", "the only revision of the protocol to speak (default the newest that both know)")
	cmd.MarkFlagDirname("dir")
	cmd.RegisterFlagCompletionFunc("revision", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return revisions(), cobra.ShellCompDirectiveNoFileComp
	})
	cmd.RegisterFlagCompletionFunc("header", cobra.NoFileCompletions)
	cmd.RegisterFlagCompletionFunc("timeout", cobra.NoFileCompletions)
}

func revisions() []string {
	var all []string
	for _, r := range mcp.Revisions() {
		all = append(all, string(r))
	}
	return all
}

// check says what is wrong with the flags.
func (o *options) check(cmd *cobra.Command) error {
	o.timeoutGiven = cmd.Flags().Changed("timeout")
	if o.asJSON && o.asText {
		return terminal.Usagef("--json and --text are two ways to print; leave one of them out")
	}
	if o.timeout <= 0 {
		return terminal.Usagef("--timeout must be more than nothing, such as 30s")
	}
	if o.revision != "" && !slices.Contains(revisions(), o.revision) {
		return terminal.Usagef("--revision %s is none that this program speaks; those are %s", o.revision, strings.Join(revisions(), ", "))
	}
	_, err := o.header()
	return err
}

// header is what --header says.
func (o *options) header() (http.Header, error) {
	header := make(http.Header)
	for _, text := range o.headers {
		name, value, ok := strings.Cut(text, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t\r\n") || strings.ContainsAny(value, "\r\n") {
			return nil, terminal.Usagef("--header takes a name and a value, such as 'Authorization: Bearer TOKEN'")
		}
		header.Add(name, strings.TrimSpace(value))
	}
	return header, nil
}

// folder is the folder that the command is about.
func (o *options) folder(env Env) string {
	if filepath.IsAbs(o.dir) {
		return o.dir
	}
	return filepath.Join(env.Dir, o.dir)
}

// json reports whether to print JSON.
func (o *options) json(env Env) bool { return o.asJSON || !o.asText && !terminal.Watched(env.Out) }

// configuration reads the configuration files. There may be none, which is nil and [mcpconfig.ErrNone].
func (o *options) configuration(env Env) (*mcpconfig.Config, error) {
	with := mcpconfig.Options{Input: inputFrom(env)}
	if o.config == "" {
		return mcpconfig.Find(o.folder(env), with)
	}
	file := o.config
	if !filepath.IsAbs(file) {
		file = filepath.Join(env.Dir, file)
	}
	config, err := mcpconfig.Read(file, with)
	if err != nil {
		return nil, &terminal.UsageError{Err: fmt.Errorf("--config: %w", err)}
	}
	return config, nil
}
