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
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcphttp"
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
