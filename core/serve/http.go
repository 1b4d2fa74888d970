package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/mcphttp"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

type httpServer struct {
	*program
	listen    mcphttp.ServeOptions
	handler   mcphttp.Options
	publicURL string
	keys      *auth.KeyGate // nil without keys
	log       logFlags
	hints     []string // how to configure the authenticators that are not in use
	started   atomic.Bool
}

func (p *program) newServe() *cobra.Command {
	s := &httpServer{program: p}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve MCP over HTTP",
		Long:  s.long(),
		Example: "  export " + s.keyVariable() + "=$(openssl rand -hex 32)\n  " + p.Name + " serve\n  " + p.Name + " serve --addr :8181\n  " +
			p.Name + " serve --addr :8181 --behind-proxy --public-url https://mcp.example.com/mcp",
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd, p.errOut) },
	}
	s.addServeFlags(cmd)
	p.addReadOnly(cmd)
	p.addFlags(cmd)
	return cmd
}

func (s *httpServer) long() string {
	required, without := s.keyVariable()+" or --keys is required.\n", ""
	if !s.KeysRequired {
		required, without = "", ` Without keys or another authentication, serve accepts only
loopback addresses such as 127.0.0.1, unless --behind-proxy is given:
every program on this machine may call the server, and web pages may if they are served from this
machine or allowed with --allow-origin.`
	}
	return `Serve MCP over streamable HTTP at /mcp, until SIGINT or SIGTERM. The server is then not ready, but
serves for --drain, so that load balancers notice; calls in flight have --grace since the signal to
finish. A second signal ends the process immediately.

` + required + s.keyVariable() + ` holds API keys of at least 16 characters, separated by commas.
NAME=KEY is a key of the caller NAME, which events record as their actor. --keys names a file with more
keys, which the command keys changes while servers run. Callers send a key as X-Api-Token or as
Authorization: Bearer.` + without + ` serve has no TLS: use a proxy on untrusted networks.

` + s.keyVariable() + `_FILE names a file with the value of ` + s.keyVariable() + `.
` + s.variable("state_key") + `_FILE works alike, and in a server with features ` + s.variable("data") + `_FILE.

Processes behind one load balancer need the same key of at least 16 characters in
` + s.variable("state_key") + `. It signs the state that clients carry between requests while tools ask them
questions. By default each process has a random key.`
}

func (s *httpServer) addServeFlags(cmd *cobra.Command) {
	s.listen, s.handler = mcphttp.ServeOptions{}.WithDefaults(), mcphttp.Options{}.WithDefaults()
	flags := cmd.Flags()
	flags.StringVar(&s.listen.Addr, "addr", s.Addr, "address to listen on; port 0 picks a free port")
	flags.BoolVar(&s.listen.BehindProxy, "behind-proxy", false, "a proxy handles TLS, and authentication if the server has no keys: allow any address")
	s.addKeysFlag(cmd)
	flags.StringVar(&s.publicURL, "public-url", "", "URL of the server as clients know it, such as https://mcp.example.com/mcp")
	flags.StringArrayVar(&s.handler.Origins, "allow-origin", nil, "allow web pages of this origin to call the server, or * for all; may be repeated")
	flags.StringArrayVar(&s.handler.Hosts, "allow-host", nil, "accept this Host too on a loopback address; may be repeated")
	flags.BoolVar(&s.listen.Health, "healthz", false, "answer at /healthz if the process lives, and at /readyz if it can answer calls, without authentication")
	s.log.add(cmd, "info")
	flags.Var((*sizeFlag)(&s.handler.MaxBody), "max-body", "size limit of a message, such as 4MiB")
	flags.Var((*sizeFlag)(&s.listen.MaxHeader), "max-header", "size limit of the headers of a request, such as 128KiB")
	flags.DurationVar(&s.listen.HeaderTimeout, "header-timeout", s.listen.HeaderTimeout, "time limit for reading the headers of a request")
	flags.DurationVar(&s.listen.BodyTimeout, "body-timeout", s.listen.BodyTimeout, "time limit for reading the body of a request")
	flags.DurationVar(&s.handler.WriteTimeout, "write-timeout", s.handler.WriteTimeout, "time limit for a client to accept part of a response")
	flags.DurationVar(&s.listen.Idle, "idle-timeout", s.listen.Idle, "how long to keep a connection without requests")
	flags.DurationVar(&s.handler.SessionIdle, "session-idle", s.handler.SessionIdle, "how long to keep a session that its client does not use")
	flags.IntVar(&s.handler.MaxSessions, "max-sessions", s.handler.MaxSessions, "maximum number of sessions")
	flags.IntVar(&s.handler.MaxCalls, "max-calls", s.handler.MaxCalls, "maximum number of calls in flight")
	flags.IntVar(&s.handler.MaxStreams, "max-streams", s.handler.MaxStreams, "maximum number of streams that clients listen to")
	flags.Var((*sizeFlag)(&s.handler.MaxMemory), "max-memory", "memory limit for messages in flight, subscriptions and other state of clients")
	flags.IntVar(&s.handler.ClientShare, "client-share", s.handler.ClientShare, "share of --max-calls, --max-streams, --max-sessions and --max-memory that one client may use, in percent")
	flags.IntVar(&s.listen.MaxConns, "max-connections", s.listen.MaxConns, "maximum number of connections")
	flags.Var((*sizeFlag)(&s.handler.ReplayBuffer), "replay-buffer", "size of the events that a session keeps for a client that reconnects, such as 1MiB")
	flags.DurationVar(&s.handler.KeepAlive, "keep-alive", s.handler.KeepAlive, "interval of keep-alive comments on a quiet stream")
	flags.DurationVar(&s.listen.Grace, "grace", s.listen.Grace, "how long calls in flight may continue after a signal to stop; 0 cancels them immediately")
	drain := 3 * time.Second
	if terminal.IsTerminal(os.Stdin) || terminal.IsTerminal(s.errOut) {
		drain = 0 // Ctrl-C
	}
	flags.DurationVar(&s.listen.Drain, "drain", drain, "how long to serve after a signal to stop, as part of --grace; on a terminal the default is 0s")
}

func (s *httpServer) run(cmd *cobra.Command, errOut io.Writer) error {
	ctx := cmd.Context()
	if err := s.check(cmd); err != nil {
		return err
	}
	if err := s.addKeys(); err != nil {
		return err
	}
	listener, err := mcphttp.Listen(ctx, s.listen.Addr)
	if err != nil {
		return s.explain(err)
	}
	defer listener.Close()
	s.listen.Listener = listener
	if s.listen.Logger, err = s.log.open(errOut); err != nil {
		return err
	}
	if err := s.addGates(listener.Addr()); err != nil {
		return err
	}
	if err := s.listen.Check(); err != nil {
		return s.explain(err)
	}
	server, err := s.newServer(s.listen.Logger, s.log.arguments)
	if err != nil {
		return err
	}
	if s.listen.BehindProxy {
		s.handler.Client = mcphttp.ForwardedClient
	}
	s.handler.Started, s.listen.Readiness = s.started.Load, s.readiness
	serving, shutDown := context.WithCancel(ctx)
	defer shutDown()
	served := make(chan error, 1)
	go func() { served <- mcphttp.Serve(serving, mcphttp.NewHandler(server, s.handler), s.listen) }()
	end, err := s.addComponents(ctx, server, s.listen.Logger)
	if err != nil {
		return err
	}
	s.started.Store(true)
	go tuneGC(serving)
	for _, line := range s.startupLines(listener.Addr(), server.RemoteScopes()) {
		s.log.announce(s.listen.Logger, errOut, s.Name, line)
	}
	until, stop := mcpcli.Interruptible(ctx)
	defer stop()
	if !terminal.IsTerminal(os.Stdin) {
		signal.Ignore(syscall.SIGHUP) // operators expect it to reload the keys
	}
	if s.keys != nil {
		go s.keys.Watch(until, s.listen.Logger)
	}
	late := make(chan struct{})
	context.AfterFunc(until, func() {
		shutDown()
		time.AfterFunc(s.listen.Grace+time.Second, func() { close(late) })
	})
	return errors.Join(s.explain(<-served), endUntil(late, end, s.listen.Logger))
}

// endUntil calls end, but does not wait for it once late is closed.
func endUntil(late <-chan struct{}, end func() error, log *slog.Logger) error {
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	select {
	case err := <-ended:
		return err
	case <-late:
		log.Warn("background work has not ended: grace period over")
		return nil
	}
}

// readiness returns [mcphttp.ServeOptions].Readiness.
func (s *httpServer) readiness() (unready, degraded []string) {
	if !s.started.Load() {
		return []string{"replaying"}, nil
	}
	for _, e := range s.extensions {
		if e, ok := e.(HealthExtension); ok {
			u, d := e.Health()
			unready, degraded = append(unready, u...), append(degraded, d...)
		}
	}
	return unready, degraded
}

func (s *httpServer) check(cmd *cobra.Command) error {
	for _, name := range []string{
		"max-sessions", "max-calls", "max-streams", "client-share", "max-connections",
		"session-idle", "keep-alive", "write-timeout", "header-timeout", "body-timeout", "idle-timeout",
	} {
		if value := cmd.Flags().Lookup(name).Value.String(); strings.HasPrefix(value, "-") || strings.HasPrefix(value, "0") {
			return terminal.Usagef("--%s must be more than 0", name)
		}
	}
	s.listen.WriteTimeout = s.handler.WriteTimeout
	switch {
	case s.handler.MaxMemory < s.handler.MaxBody:
		return terminal.Usagef("--max-memory must be at least --max-body")
	case s.handler.ClientShare > 100:
		return terminal.Usagef("--client-share must be at most 100")
	case s.listen.Grace < 0 || s.listen.Drain < 0:
		return terminal.Usagef("--grace and --drain must not be negative")
	case s.listen.Grace == 0:
		s.listen.Grace = time.Nanosecond // 0 would be the default
	}
	s.listen.Remedy = func(option string) string { return "the operator can allow it with " + optionFlags[option] }
	if s.publicURL != "" {
		u, err := url.Parse(s.publicURL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return terminal.Usagef("--public-url %q is not a URL such as https://mcp.example.com/mcp", s.publicURL)
		}
		s.handler.Hosts = append(s.handler.Hosts, u.Host)
	}
	if err := cmp.Or(s.handler.Check(), s.listen.Check()); err != nil {
		return &terminal.UsageError{Err: s.explain(err)}
	}
	return nil
}

// optionFlags are the flags of options of package mcphttp.
var optionFlags = map[string]string{"Addr": "--addr", "Hosts": "--allow-host", "Origins": "--allow-origin", "Health": "--healthz"}

// explain adds the flag or the remedy to an error of package mcphttp.
func (s *httpServer) explain(err error) error {
	if option, ok := errors.AsType[*mcphttp.OptionError](err); ok {
		return fmt.Errorf("%s %q: %s", optionFlags[option.Option], option.Value, option.Reason)
	}
	if _, ok := errors.AsType[*mcphttp.UnprotectedError](err); ok {
		remedies := append([]string{"set " + s.keyVariable() + " to a key (generate one with openssl rand -hex 32)"}, s.hints...)
		remedies = append(remedies, "use --behind-proxy if a proxy handles TLS and authentication", "or listen on "+mcphttp.DefaultAddr)
		return fmt.Errorf("%w; %s", err, strings.Join(remedies, ", "))
	}
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EACCES) {
		return fmt.Errorf("%w; choose another port above 1023 with --addr, or 0 for a free one", err)
	}
	return err
}

func (s *httpServer) addKeys() error {
	text, ok, err := project.LookupSetting(s.Name, "api_key")
	switch {
	case err != nil || !ok && s.keyFile == "" && !s.KeysRequired:
		return err
	case !ok && s.keyFile == "":
		return fmt.Errorf("%s is not set; serve requires an API key: generate one with openssl rand -hex 32, and send it as X-Api-Token", s.keyVariable())
	}
	var list []string
	if ok {
		list = strings.Split(text, ",")
	}
	if s.keys, err = auth.Keys(s.Name, list); err != nil {
		return fmt.Errorf("%s: %w", s.keyVariable(), err)
	}
	if s.keyFile != "" {
		if err := s.keys.AddFile(s.keyFile); err != nil {
			return fmt.Errorf("%w; %s keys add writes such a file", err, s.Name)
		}
	}
	s.listen.Gates = append(s.listen.Gates, s.keys)
	s.handler.Challenge = func(scopes []string) string { return s.keys.Challenge("insufficient_scope", scopes) }
	return nil
}

// addGates adds the gates of the authenticators. addr is the address that the server listens on.
func (s *httpServer) addGates(addr net.Addr) error {
	resource := s.publicURL
	if resource == "" && mcphttp.IsLocal(addr) {
		resource = localURL(addr)
	}
	for _, e := range s.extensions {
		authenticator, ok := e.(Authenticator)
		if !ok {
			continue
		}
		gate, pages, err := authenticator.Gate(resource, s.listen.Logger)
		if err != nil {
			return err
		}
		if gate == nil {
			s.hints = append(s.hints, authenticator.SetupHint())
			continue
		}
		s.listen.Gates = append(s.listen.Gates, gate)
		s.handler.Challenge = func(scopes []string) string { return gate.Challenge("insufficient_scope", scopes) }
		if s.listen.Extra == nil {
			s.listen.Extra = map[string]http.Handler{}
		}
		maps.Copy(s.listen.Extra, pages)
	}
	return nil
}

// startupLines returns the lines that serve prints when it listens on addr. scopes are the scopes
// that components require, by their names.
func (s *httpServer) startupLines(addr net.Addr, scopes map[string][]string) []string {
	lines := []string{"serving " + localURL(addr)}
	if isUnspecified(addr) {
		lines = append(lines, "listening on all addresses of this machine")
	}
	lines = append(lines, s.describeAccess())
	if s.keys != nil {
		lines = append(lines, "callers with keys: "+cmp.Or(strings.Join(s.keys.Callers(), ", "), "none yet"))
	}
	for _, hint := range s.hints {
		lines = append(lines, "an authenticator is not configured; "+hint)
	}
	if text := s.uncheckedScopes(scopes); text != "" {
		lines = append(lines, text)
	}
	return lines
}

func (s *httpServer) describeAccess() string {
	switch {
	case len(s.listen.Gates) > 0:
		var wants []string
		for _, gate := range s.listen.Gates {
			wants = append(wants, gate.Credentials())
		}
		return "callers must send " + strings.Join(wants, ", or ")
	case s.listen.BehindProxy:
		return "callers are not authenticated; the proxy must authenticate them"
	case slices.Contains(s.handler.Origins, "*"):
		return "every program on this machine, and every web page open in its browsers, may call; set " + s.keyVariable() + " to require a key"
	}
	return "every program on this machine may call; set " + s.keyVariable() + " to require a key"
}

// uncheckedScopes returns a warning that names the components whose scopes are not checked, or "".
func (s *httpServer) uncheckedScopes(scopes map[string][]string) string {
	maps.DeleteFunc(scopes, func(_ string, needed []string) bool { return len(needed) == 0 })
	if len(s.listen.Gates) > 0 || len(scopes) == 0 {
		return ""
	}
	return "scopes are not checked, because callers are not authenticated: " + strings.Join(slices.Sorted(maps.Keys(scopes)), ", ")
}

func isUnspecified(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsUnspecified()
}

// localURL returns the URL of a server that listens on addr, for clients on this machine.
func localURL(addr net.Addr) string {
	if isUnspecified(addr) {
		addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: addr.(*net.TCPAddr).Port}
	}
	return "http://" + addr.String() + "/mcp"
}

// A sizeFlag is a flag value in bytes, such as 1048576, 64KiB, 1MiB or 2GiB, in upper or lower
// case.
type sizeFlag int64

func (s *sizeFlag) Type() string { return "size" }

func (s *sizeFlag) Set(text string) error {
	number, shift := strings.ToLower(text), 0
	for i, unit := range []string{"kib", "mib", "gib"} {
		if before, ok := strings.CutSuffix(number, unit); ok {
			number, shift = strings.TrimSpace(before), 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt>>shift {
		return errors.New("a size is a number of bytes above 0 that is not too large, such as 1048576, 64KiB or 1MiB")
	}
	*s = sizeFlag(n << shift)
	return nil
}

func (s *sizeFlag) String() string {
	n, unit, units := *s, 0, []string{"", "KiB", "MiB", "GiB"}
	for n != 0 && n%1024 == 0 && unit < len(units)-1 {
		n, unit = n/1024, unit+1
	}
	return fmt.Sprintf("%d%s", n, units[unit])
}

// gcHeadroom is how many bytes the heap may grow between two collections, at least. Go collects a
// small heap whenever it has grown by 4 MiB, which is about 50 times a second under load. With 64
// MiB, an HTTP server answers 4 to 12 % more calls per second in petrock's own benchmark.
const gcHeadroom = 64 << 20

// gcInterval is how often the percent follows the live heap. Between two looks, a heap that grows
// quickly may exceed its headroom.
const gcInterval = 100 * time.Millisecond

// defaultPercent is Go's default for the GC percent.
const defaultPercent = 100

// tuneGC sets the GC percent by the size of the live heap until ctx ends, and then sets Go's
// default again. It does nothing if the variable GOGC is set, and stops if the program has called
// [debug.SetGCPercent]. A memory limit still applies: near it, Go collects more often.
func tuneGC(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gogc:percent"}}
	live, percent := &samples[0].Value, &samples[1].Value
	tick := time.NewTicker(gcInterval)
	defer tick.Stop()
	for current := uint64(defaultPercent); ; {
		metrics.Read(samples)
		if percent.Uint64() != current {
			return // it is the program's own
		}
		if wanted := gcPercent(live.Uint64()); wanted != current {
			debug.SetGCPercent(int(wanted))
			current = wanted
		}
		select {
		case <-ctx.Done():
			debug.SetGCPercent(defaultPercent)
			return
		case <-tick.C:
		}
	}
}

// gcPercent returns the GC percent for a live heap: 1600 up to 4 MiB, less for a larger one, and
// Go's default from 64 MiB on, so that a server with much state does not need more memory. It
// rounds the heap up to 4 MiB, so that the percent rarely changes.
func gcPercent(live uint64) uint64 {
	const step = 4 << 20
	steps := max(1, (live+step-1)/step)
	return max(defaultPercent, 100*gcHeadroom/(steps*step))
}
