package main

import (
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/mcphttp"
)

// A gateKeeper is an extension that tells who may come in over HTTP.
type gateKeeper interface {
	extension

	// Gate returns a gate, and the pages that belong to it by their paths, which are for everybody. The gate is nil
	// if it is not in use. resource is the address that clients call the server by, such as https://mcp.example.com/mcp; "" if
	// that is not known, which is an error for a gate that needs it. It logs to log.
	Gate(resource string, log *slog.Logger) (gate auth.Gate, pages map[string]http.Handler, err error)

	// Way says how to have the gate in use, to those who start a server without it, such as "name the issuer with --oauth-issuer".
	Way() string
}

// addKeys adds the gate for API keys, if there are any in the environment. If they are required and there are none, it is an error.
func (s *servingHTTP) addKeys() error {
	text, ok := os.LookupEnv(keyVariable())
	if !ok && s.keysRequired {
		return fmt.Errorf("it is for those who have a key, and there is none; set %s to one (openssl rand -hex 32 makes one), and send it as X-Api-Token", keyVariable())
	}
	if !ok {
		return nil
	}
	gate, err := auth.Keys(programName, strings.Split(text, ","))
	switch {
	case err != nil && s.keysRequired:
		return fmt.Errorf("%s: %w", keyVariable(), err)
	case err != nil:
		return fmt.Errorf("%s: %w; unset it to ask for no key", keyVariable(), err)
	}
	s.web.Gates = append(s.web.Gates, gate)
	return nil
}

// addGates adds the gates of gateKeepers to what is served at addr.
func (s *servingHTTP) addGates(addr net.Addr) error {
	resource := s.publicURL
	if resource == "" && mcphttp.IsLoopback(addr) {
		resource = addressURL(addr)
	}
	for _, e := range s.with {
		keeper, ok := e.(gateKeeper)
		if !ok {
			continue
		}
		gate, pages, err := keeper.Gate(resource, s.web.Logger)
		if err != nil {
			return err
		}
		if gate == nil {
			s.ways = append(s.ways, keeper.Way())
			continue
		}
		s.web.Gates = append(s.web.Gates, gate)
		s.mcp.Challenge = func(scopes []string) string { return gate.Challenge("insufficient_scope", scopes) }
		if s.web.Extra == nil {
			s.web.Extra = map[string]http.Handler{}
		}
		maps.Copy(s.web.Extra, pages)
	}
	return nil
}

// hostOf is the host of an address that clients call the server by.
func hostOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("--public-url %q is not an address such as https://mcp.example.com/mcp", address)
	}
	return u.Host, nil
}
