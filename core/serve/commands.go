package serve

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/mcphttp"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

func (p *program) newCheck() *cobra.Command {
	var strict bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "check [URL]",
		Short: "Check that a server is ready to answer calls",
		Long: `Check that a server that runs with serve --healthz is ready to answer calls, for example in the health
check of a container. The answer of the server is printed: if it is not ready, with the reasons.

URL is that of the server; its path is ` + mcphttp.ReadyPath + ` unless you name another one, such as ` + mcphttp.HealthPath + `.

Exit codes: 0 ready, 1 not ready or not reachable, 2 usage error.`,
		Example: "  " + p.Name + " check\n  " + p.Name + " check http://127.0.0.1:8181 --strict",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			_, port, _ := net.SplitHostPort(p.Addr) // the flag --addr of serve is not known here
			target := "http://127.0.0.1:" + port
			if len(args) > 0 {
				target = args[0]
			}
			return check(p.out, target, strict, timeout)
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "fail even if the server is only degraded: some of its features do not work")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	return cmd
}

// check prints the answer of a health check to out. It is an error if the status is not 200.
func check(out io.Writer, target string, strict bool, timeout time.Duration) error {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || timeout <= 0 {
		return terminal.Usagef("check %q with --timeout %v: use a URL such as http://127.0.0.1:8181, and a timeout above 0", target, timeout)
	}
	if u.Path == "" || u.Path == "/" || u.Path == "/mcp" {
		u.Path = mcphttp.ReadyPath
	}
	if strict {
		u.RawQuery = "strict"
	}
	response, body, err := get(u, timeout)
	if err != nil {
		return fmt.Errorf("check %s: %w", u, err)
	}
	fmt.Fprintln(out, terminal.Plain(strings.TrimSpace(string(body))))
	switch response.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusNotFound:
		return fmt.Errorf("check %s: %s; start the server with --healthz", u, response.Status)
	}
	return fmt.Errorf("check %s: %s", u, response.Status)
}

// get returns the response and the body of a page. It does not use [http.Client], which would make
// every server 5 % larger.
func get(u *url.URL, timeout time.Duration) (response *http.Response, body []byte, err error) {
	port := cmp.Or(u.Port(), u.Scheme) // the dialer knows the names http and https
	dialer := &net.Dialer{Timeout: timeout}
	dial := dialer.Dial
	if u.Scheme == "https" {
		dial = (&tls.Dialer{NetDialer: dialer}).Dial
	}
	conn, err := dial("tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(timeout)) // cannot fail
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", u.RequestURI(), u.Host); err != nil {
		return nil, nil, err
	}
	response, err = http.ReadResponse(bufio.NewReader(io.LimitReader(conn, 64<<10)), nil)
	if err != nil {
		return nil, nil, err
	}
	body, err = io.ReadAll(response.Body)
	return response, body, err
}

// addKeysFlag adds --keys to a command and its subcommands.
func (p *program) addKeysFlag(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&p.keyFile, "keys", os.Getenv(p.variable("keys")), "file with API keys, which "+p.Name+" keys writes; $"+p.variable("keys")+" sets it too")
	cmd.MarkPersistentFlagFilename("keys")
}

func (p *program) newKeys() *cobra.Command {
	var asJSON bool
	keys := &cobra.Command{
		Use:   "keys",
		Short: "Add, list and revoke API keys in a file",
		Long: `Add, list and revoke API keys in a file. Servers with the same --keys read it again within a second.

A line of the file is NAME sha256:HEX [SCOPE…]: the name of the caller, which events record as their
actor, the hash of the key, and its scopes. A key without scopes bypasses them. To replace a key, add
another one with the same name, update the client, and revoke the old one by its hash.`,
	}
	p.addKeysFlag(keys)
	keys.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")
	add := func(do func(args []string) ([]auth.Key, error), args cobra.PositionalArgs, use, example, short, long string) {
		keys.AddCommand(&cobra.Command{
			Use: use, Short: short, Long: long, Example: "  " + p.Name + " keys " + example + " --keys api.keys", Args: args,
			RunE: func(cmd *cobra.Command, args []string) error {
				if p.keyFile == "" {
					return terminal.Usagef("keys needs --keys FILE or %s", p.variable("keys"))
				}
				all, err := do(args)
				switch {
				case err != nil:
					return err
				case asJSON:
					return terminal.PrintJSON(cmd.OutOrStdout(), append([]auth.Key{}, all...))
				}
				for _, k := range all {
					line := fmt.Sprintf("%-16s  %.19s  %s", k.Name, k.Sum, strings.Join(k.Scopes, " "))
					fmt.Fprintln(cmd.OutOrStdout(), cmp.Or(k.Key, strings.TrimSpace(line)))
				}
				return nil
			},
		})
	}
	add(func(args []string) ([]auth.Key, error) {
		k, err := auth.AddKey(p.keyFile, args[0], args[1:])
		return []auth.Key{k}, err
	}, mcpcli.MinimumArgs("alice"), "add NAME [SCOPE…]", "add alice", "Add a key, and print it",
		"Add a random key to the file, which is created if needed, and print the key. It cannot be printed again.")
	add(func([]string) ([]auth.Key, error) { return auth.ReadKeys(p.keyFile) }, nil, "list", "list", "List the keys", "List the keys, the oldest first: name, first digits of the hash, scopes.")
	add(func(args []string) ([]auth.Key, error) { return auth.RevokeKeys(p.keyFile, args[0]) },
		mcpcli.ExactArgs("alice"), "revoke NAME", "revoke alice", "Revoke all keys of a name, or one key",
		`Remove all keys of a name, or one key by the first digits of its hash, such as sha256:3f9a. Print what was
removed. Servers refuse the keys within a second, and end their streams. Calls in flight finish.`)
	return keys
}
