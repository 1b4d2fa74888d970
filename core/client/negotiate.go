package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// probePatience is how long the answer to server/discover may take before initialize is sent beside it: there are servers that never
// answer what they do not know. One that is slow to start answers both, and then the first answer counts.
const probePatience = 3 * time.Second

// agree finds out in which revision to speak, and what the server is.
func (c *Client) agree(ctx context.Context) error {
	first := c.initialize
	switch {
	case c.o.Revision == "" && !c.handshake:
		first = c.probe
	case c.o.Revision.stateless():
		first = c.discover
	}
	a, err := first(ctx)
	if err != nil {
		return err
	}
	return c.begin(ctx, a)
}

// begin tells the server that all is agreed on, and takes note of it: from then on others call on these terms.
func (c *Client) begin(ctx context.Context, a *terms) error {
	c.conn.SetDialect(a.revision.dialect())
	if !a.revision.stateless() {
		if err := c.route.notify(ctx, a, "notifications/initialized", nil); err != nil {
			c.route.leave(a)
			return err
		}
	}
	c.told.Store(a)
	c.route.begin(ctx, a)
	if err := c.setLevel(ctx, a); err != nil {
		c.o.Logger.Warn("the server does not take the log level", "error", err)
	}
	if err := c.listenAnew(ctx, a); err != nil {
		c.o.Logger.Warn("the server does not tell of changes", "error", err)
	}
	return nil
}

// renew begins a session anew whose server has forgotten it, unless that has been done meanwhile.
func (c *Client) renew(ctx context.Context, lost *terms) (*terms, error) {
	select {
	case c.again <- struct{}{}:
		defer func() { <-c.again }()
	case <-ctx.Done():
		return lost, context.Cause(ctx)
	}
	if now := c.told.Load(); now != lost {
		return now, nil
	}
	c.o.Logger.Info("the session is lost; beginning another")
	a, err := c.initialize(ctx)
	if err != nil {
		return lost, err
	}
	return a, c.begin(ctx, a)
}

// An agreed is what became of a first request.
type agreed struct {
	terms *terms
	err   error
}

// probe asks for a revision without sessions first, and goes through the handshake if the server has none.
func (c *Client) probe(ctx context.Context) (*terms, error) {
	answers := make(chan agreed, 2)
	try := func(first func(context.Context) (*terms, error)) {
		a, err := first(ctx)
		answers <- agreed{a, err}
	}
	go try(c.discover)
	timer := time.NewTimer(probePatience)
	defer timer.Stop()
	select {
	case got := <-answers:
		return c.probed(ctx, got)
	case <-timer.C:
	}
	go try(c.initialize)
	got := <-answers
	if got.err != nil {
		if second := <-answers; second.err == nil {
			return second.terms, nil
		}
	}
	return got.terms, got.err
}

// probed goes on by what became of server/discover.
func (c *Client) probed(ctx context.Context, first agreed) (*terms, error) {
	if first.err == nil || ctx.Err() != nil || !fallsBack(first.err) {
		return first.terms, first.err
	}
	a, err := c.initialize(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w (server/discover, which came first: %v)", err, first.err)
	}
	return a, nil
}

// fallsBack reports whether what became of server/discover may come from a server of the older revisions. They answer with all kinds
// of errors.
func fallsBack(err error) bool {
	var refused *HTTPError
	if errors.As(err, &refused) && refused.denied() || errors.Is(err, jsonrpc.ErrClosed) {
		return false
	}
	e := answeredWith(err)
	if e == nil {
		var old *olderError
		var broken *jsonrpc.AnswerError
		return errors.As(err, &old) || errors.As(err, &broken) || refused != nil
	}
	return e.Code != HeaderMismatch && e.Code != MissingCapability && e.Code != UnsupportedVersion
}

// An olderError says that an answer to server/discover is none of a revision that has it.
type olderError struct{ text string }

func (e *olderError) Error() string { return e.text }

// discover asks what the server is, in the era without sessions.
func (c *Client) discover(ctx context.Context) (*terms, error) {
	wish := &terms{revision: Latest}
	raw, err := c.once(ctx, wish, "server/discover")
	if e := answeredWith(err); e != nil && e.Code == UnsupportedVersion {
		if wish.revision, err = choose(e, err); err != nil {
			return nil, err
		}
		if !wish.revision.stateless() {
			return c.initialize(ctx)
		}
		raw, err = c.once(ctx, wish, "server/discover")
	}
	if err != nil {
		return nil, err
	}
	var found struct {
		Meta struct {
			Server json.RawMessage `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
		Server       json.RawMessage `json:"serverInfo"` // where a draft had it
		Supported    *[]Revision     `json:"supportedVersions"`
		Capabilities Capabilities    `json:"capabilities"`
		Instructions string          `json:"instructions"`
	}
	if err := strictjson.Unmarshal(raw, &found); err != nil || found.Supported == nil {
		return nil, &olderError{"the server answers server/discover, and does not say which revisions it speaks"}
	}
	if !slices.Contains(*found.Supported, Latest) {
		if c.o.Revision == "" && slices.ContainsFunc(*found.Supported, isHandshake) {
			return c.initialize(ctx)
		}
		return nil, noneInCommon(*found.Supported)
	}
	a := &terms{revision: Latest, capabilities: found.Capabilities, instructions: found.Instructions, supported: *found.Supported}
	if a.server, _ = readInfo(found.Meta.Server); a.server.Name == "" {
		a.server, _ = readInfo(found.Server)
	}
	return a, nil
}

func isHandshake(r Revision) bool { return slices.Contains(HandshakeRevisions(), r) }

// choose picks the newest revision that a server says it speaks, and we do.
func choose(e *jsonrpc.Error, err error) (Revision, error) {
	var data struct {
		Supported []Revision `json:"supported"`
	}
	if e.Data == nil || strictjson.Unmarshal(e.Data, &data) != nil || len(data.Supported) == 0 {
		return "", err
	}
	for _, ours := range Revisions() {
		if slices.Contains(data.Supported, ours) {
			return ours, nil
		}
	}
	return "", noneInCommon(data.Supported)
}

func noneInCommon(theirs []Revision) error {
	var names []string
	for _, r := range theirs {
		names = append(names, string(r))
	}
	return fmt.Errorf("the server speaks %s, and this client %s: there is none in common", short(strings.Join(names, ", ")), Latest)
}

// initialize goes through the handshake.
func (c *Client) initialize(ctx context.Context) (*terms, error) {
	wish := LatestHandshake
	if isHandshake(c.o.Revision) {
		wish = c.o.Revision
	}
	r := &outgoing{method: "initialize", members: func(dst []byte) ([]byte, error) {
		dst = appendMember(dst, "protocolVersion", strictjson.AppendString(nil, string(wish)))
		capabilities, err := c.capabilities(wish)
		if err != nil {
			return nil, err
		}
		info, err := c.o.Info.forRevision(wish).AppendJSON(nil)
		return appendMember(appendMember(dst, "capabilities", capabilities), "clientInfo", info), err
	}}
	raw, err := c.ask(ctx, &terms{}, r)
	if err != nil {
		return nil, err
	}
	var result struct {
		ProtocolVersion Revision        `json:"protocolVersion"`
		ServerInfo      json.RawMessage `json:"serverInfo"`
		Capabilities    Capabilities    `json:"capabilities"`
		Instructions    string          `json:"instructions"`
	}
	if err := strictjson.Unmarshal(raw, &result); err != nil {
		return nil, fmt.Errorf("reading the result of initialize: %w", err)
	}
	switch {
	case !isHandshake(result.ProtocolVersion):
		return nil, fmt.Errorf("the server wants to speak revision %q, which this client does not know", short(string(result.ProtocolVersion)))
	case c.o.Revision != "" && result.ProtocolVersion != c.o.Revision:
		return nil, fmt.Errorf("the server wants to speak revision %s, and %s was asked for", result.ProtocolVersion, c.o.Revision)
	}
	a := &terms{revision: result.ProtocolVersion, capabilities: result.Capabilities, instructions: result.Instructions, session: r.session}
	a.server, _ = readInfo(result.ServerInfo)
	return a, nil
}

// capabilities are what the client says it can do, as JSON.
func (c *Client) capabilities(r Revision) ([]byte, error) {
	all := map[string]map[string]any{}
	if c.o.Sample != nil {
		all["sampling"] = map[string]any{}
		if c.o.SampleTools && r >= Revision20251125 {
			all["sampling"]["tools"] = struct{}{}
		}
	}
	if (c.o.Elicit != nil || c.o.Visit != nil && r >= Revision20251125) && r >= Revision20250618 {
		all["elicitation"] = map[string]any{}
		if c.o.Elicit != nil && r >= Revision20251125 {
			all["elicitation"]["form"] = struct{}{}
		}
		if c.o.Visit != nil && r >= Revision20251125 {
			all["elicitation"]["url"] = struct{}{}
		}
	}
	if c.o.Roots != nil {
		all["roots"] = map[string]any{}
		if !r.stateless() {
			all["roots"]["listChanged"] = true
		}
	}
	return strictjson.Marshal(all)
}

// RootsChanged tells the server that the person works on something else now. In revisions without sessions it is asked each time.
func (c *Client) RootsChanged(ctx context.Context) error {
	if a := c.told.Load(); !a.revision.stateless() {
		return c.failed(c.route.notify(ctx, a, "notifications/roots/list_changed", nil))
	}
	return nil
}
