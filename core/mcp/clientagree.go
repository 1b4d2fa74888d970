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
	switch {
	case c.o.Revision == "" && !c.handshake:
		return c.probe(ctx)
	case c.o.Revision.stateless():
		return c.discover(ctx)
	}
	return c.initialize(ctx)
}

// probe asks for a revision without sessions first, and goes through the handshake if the server has none.
func (c *Client) probe(ctx context.Context) error {
	answers := make(chan error, 2)
	go func() { answers <- c.discover(ctx) }()
	timer := time.NewTimer(probePatience)
	defer timer.Stop()
	select {
	case err := <-answers:
		return c.probed(ctx, err)
	case <-timer.C:
	}
	go func() { answers <- c.initialize(ctx) }()
	err := <-answers
	if err != nil {
		if second := <-answers; second == nil {
			return nil
		}
	}
	return err
}

// probed goes on by what became of server/discover.
func (c *Client) probed(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || !fallsBack(err) {
		return err
	}
	if second := c.initialize(ctx); second != nil {
		return fmt.Errorf("%w (server/discover, which came first: %v)", second, err)
	}
	return nil
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
func (c *Client) discover(ctx context.Context) error {
	wish := &terms{revision: Latest}
	raw, err := c.once(ctx, wish, "server/discover")
	if e := answeredWith(err); e != nil && e.Code == UnsupportedVersion {
		if wish.revision, err = choose(e, err); err != nil {
			return err
		}
		if !wish.revision.stateless() {
			return c.initialize(ctx)
		}
		raw, err = c.once(ctx, wish, "server/discover")
	}
	if err != nil {
		return err
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
		return &olderError{"the server answers server/discover, and does not say which revisions it speaks"}
	}
	if !slices.Contains(*found.Supported, Latest) {
		if c.o.Revision == "" && slices.ContainsFunc(*found.Supported, isHandshake) {
			return c.initialize(ctx)
		}
		return noneInCommon(*found.Supported)
	}
	agreed := &terms{revision: Latest, capabilities: found.Capabilities, instructions: found.Instructions, supported: *found.Supported}
	if agreed.server, _ = readInfo(found.Meta.Server); agreed.server.Name == "" {
		agreed.server, _ = readInfo(found.Server)
	}
	return c.begin(ctx, agreed)
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
func (c *Client) initialize(ctx context.Context) error {
	wish := LatestHandshake
	if isHandshake(c.o.Revision) {
		wish = c.o.Revision
	}
	raw, err := c.ask(ctx, &terms{}, &outgoing{method: "initialize", members: func(dst []byte) ([]byte, error) {
		dst = appendMember(dst, "protocolVersion", strictjson.AppendString(nil, string(wish)))
		capabilities, err := c.capabilities(wish)
		if err != nil {
			return nil, err
		}
		info, err := c.o.Info.forRevision(wish).AppendJSON(nil)
		return appendMember(appendMember(dst, "capabilities", capabilities), "clientInfo", info), err
	}})
	if err != nil {
		return err
	}
	var agreed struct {
		ProtocolVersion Revision        `json:"protocolVersion"`
		ServerInfo      json.RawMessage `json:"serverInfo"`
		Capabilities    Capabilities    `json:"capabilities"`
		Instructions    string          `json:"instructions"`
	}
	if err := strictjson.Unmarshal(raw, &agreed); err != nil {
		return fmt.Errorf("reading the result of initialize: %w", err)
	}
	switch {
	case !isHandshake(agreed.ProtocolVersion):
		return fmt.Errorf("the server wants to speak revision %q, which this client does not know", short(string(agreed.ProtocolVersion)))
	case c.o.Revision != "" && agreed.ProtocolVersion != c.o.Revision:
		return fmt.Errorf("the server wants to speak revision %s, and %s was asked for", agreed.ProtocolVersion, c.o.Revision)
	}
	told := &terms{revision: agreed.ProtocolVersion, capabilities: agreed.Capabilities, instructions: agreed.Instructions}
	told.server, _ = readInfo(agreed.ServerInfo)
	return c.begin(ctx, told)
}

// begin takes note of what was agreed on, unless that was done before, and tells the server.
func (c *Client) begin(ctx context.Context, a *terms) error {
	if !c.told.CompareAndSwap(nil, a) {
		return nil
	}
	if a.capabilities == nil {
		a.capabilities = Capabilities{}
	}
	return c.began(ctx, a)
}

// began tells the server that a session has begun, and what to tell of.
func (c *Client) began(ctx context.Context, a *terms) error {
	c.conn.SetDialect(a.revision.dialect())
	if !a.revision.stateless() {
		if err := c.route.notify(ctx, a, "notifications/initialized", nil); err != nil {
			return err
		}
	}
	c.route.begin(ctx, a)
	if err := c.setLevel(ctx, a); err != nil {
		c.o.Logger.Warn("the server does not take the log level", "error", err)
	}
	return c.listenAnew(ctx, a)
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
