package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/strictjson"
)

// discoverTimeout is how long server/discover may take before initialize is sent in parallel. Some
// older servers never answer unknown methods.
const discoverTimeout = 3 * time.Second

// negotiate agrees on a revision with the server, and starts the session.
func (c *Client) negotiate(ctx context.Context) error {
	open := c.initialize
	switch {
	case c.o.Revision == "" && !c.o.Handshake:
		open = c.discoverOrInitialize
	case c.o.Revision > mcp.LatestHandshake:
		open = c.discover
	}
	s, err := open(ctx)
	if err != nil {
		return err
	}
	return c.beginSession(ctx, s)
}

// beginSession makes s the session of further requests.
func (c *Client) beginSession(ctx context.Context, s *session) error {
	c.conn.SetDialect(peer.Dialect{Batches: s.Revision == mcp.Revision20250326, NullID: s.Revision < mcp.Revision20251125})
	if !s.IsStateless() {
		if err := c.transport.Notify(ctx, &s.Session, "notifications/initialized", nil); err != nil {
			c.transport.End(&s.Session)
			return err
		}
	}
	c.session.Store(s)
	c.transport.Begin(ctx, &s.Session)
	return nil
}

// renewSession replaces a session that the server has lost, unless another goroutine has done so.
func (c *Client) renewSession(ctx context.Context, lost *session) (*session, error) {
	select {
	case c.renewLock <- struct{}{}:
		defer func() { <-c.renewLock }()
	case <-ctx.Done():
		return lost, context.Cause(ctx)
	}
	if current := c.session.Load(); current != lost {
		return current, nil
	}
	c.o.Logger.Info("session lost; starting a new one")
	s, err := c.initialize(ctx)
	if err != nil {
		return lost, err
	}
	return s, c.beginSession(ctx, s)
}

// discoverOrInitialize sends server/discover, and initialize if that fails or takes long.
func (c *Client) discoverOrInitialize(ctx context.Context) (*session, error) {
	type result struct {
		session *session
		err     error
	}
	results := make(chan result, 2)
	try := func(ctx context.Context, open func(context.Context) (*session, error)) {
		s, err := open(ctx)
		results <- result{s, err}
	}
	discoverCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	go try(discoverCtx, c.discover)
	select {
	case r := <-results:
		if r.err == nil || ctx.Err() != nil || !mayBeOldServer(r.err) {
			return r.session, r.err
		}
		c.o.Logger.Info("server/discover failed; sending initialize", "error", r.err)
		return c.initialize(ctx)
	case <-time.After(discoverTimeout):
	}
	// A client must not cancel initialize: it would not learn the id of the session, to end it.
	go try(context.WithoutCancel(ctx), c.initialize)
	left := 2
	endLate := func() {
		for range left {
			if r := <-results; r.err == nil {
				c.transport.End(&r.session.Session)
			}
		}
	}
	defer func() { go endLate() }()
	var failed error
	for ; left > 0; left-- {
		select {
		case r := <-results:
			if r.err == nil {
				left--
				return r.session, nil
			}
			if failed == nil || mayBeOldServer(failed) {
				failed = r.err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, failed
}

// mayBeOldServer reports whether an error of server/discover may come from a server that does not
// support that method. Such servers answer with all kinds of errors.
func mayBeOldServer(err error) bool {
	if errors.Is(err, ErrDenied) || errors.Is(err, jsonrpc.ErrClosed) {
		return false
	}
	if e, ok := errors.AsType[*revisionError](err); ok {
		return slices.ContainsFunc(e.supported, isHandshake)
	}
	if e := serverError(err); e != nil {
		return e.Code != mcp.HeaderMismatch && e.Code != mcp.MissingCapability && e.Code != mcp.UnsupportedVersion
	}
	_, invalid := errors.AsType[*peer.AnswerError](err)
	return errors.Is(err, ErrRefused) || invalid || errors.Is(err, errInvalidDiscover)
}

var errInvalidDiscover = errors.New("the result of server/discover has no supportedVersions")

// discover requests the revisions and capabilities of a stateless server.
func (c *Client) discover(ctx context.Context) (*session, error) {
	s := &session{Session: Session{Revision: mcp.Latest}}
	raw, err := c.sendOnce(ctx, s, &request{method: "server/discover"})
	if e := serverError(err); e != nil && e.Code == mcp.UnsupportedVersion && e.Data != nil {
		var data struct {
			Supported []mcp.Revision `json:"supported"`
		}
		switch readErr := strictjson.Unmarshal(e.Data, &data); {
		case readErr == nil && slices.Contains(data.Supported, mcp.Latest):
			raw, err = c.sendOnce(ctx, s, &request{method: "server/discover"})
		case readErr == nil && len(data.Supported) > 0:
			return nil, &revisionError{data.Supported}
		}
	}
	if err != nil {
		return nil, err
	}
	if s.read(raw) != nil || s.result.Supported == nil {
		return nil, errInvalidDiscover
	}
	if !slices.Contains(s.result.Supported, mcp.Latest) {
		return nil, &revisionError{s.result.Supported}
	}
	return s, nil
}

// read reads the result of initialize or server/discover. It ignores an invalid name and version of
// the server, which are only for display.
func (s *session) read(raw json.RawMessage) error {
	info := strictjson.Member(strictjson.Member(raw, "_meta"), mcp.MetaServerInfo)
	if info == nil {
		info = strictjson.Member(raw, "serverInfo") // of initialize, and of drafts of server/discover
	}
	if strictjson.First(info) == '{' {
		_ = strictjson.Unmarshal(info, &s.server)
	}
	return strictjson.Unmarshal(raw, &s.result)
}

func isHandshake(r mcp.Revision) bool { return slices.Contains(mcp.HandshakeRevisions(), r) }

// A revisionError means that the server does not support the latest revision.
type revisionError struct{ supported []mcp.Revision }

func (e *revisionError) Error() string {
	return fmt.Sprintf("no common revision: the server supports %s, this client %s", short(fmt.Sprint(e.supported)), mcp.Latest)
}

func (c *Client) initialize(ctx context.Context) (*session, error) {
	wanted := cmp.Or(c.o.Revision, mcp.LatestHandshake)
	capabilities, info, err := c.identity(wanted)
	if err != nil {
		return nil, err
	}
	r := &request{method: "initialize"}
	r.setParam("protocolVersion", strictjson.AppendString(nil, string(wanted)))
	r.setParam("capabilities", capabilities)
	r.setParam("clientInfo", info)
	s := &session{}
	raw, err := c.sendOnce(ctx, s, r)
	if err != nil {
		return nil, err
	}
	if err := s.read(raw); err != nil {
		return nil, fmt.Errorf("read the result of initialize: %w", err)
	}
	s.Revision = s.result.Revision
	switch {
	case !isHandshake(s.Revision):
		return nil, fmt.Errorf("initialize: the server chose the unknown revision %q", short(string(s.Revision)))
	case c.o.Revision != "" && s.Revision != c.o.Revision:
		return nil, fmt.Errorf("initialize: the server chose revision %s, not %s", s.Revision, c.o.Revision)
	}
	return s, nil
}

// identity returns the capabilities, name and version of the client as JSON.
func (c *Client) identity(r mcp.Revision) (capabilities, info []byte, err error) {
	all := map[string]any{}
	for name, value := range c.o.Capabilities {
		all[name] = value
	}
	if c.o.Sample != nil {
		sampling := map[string]any{}
		if c.o.SampleTools {
			sampling["tools"] = struct{}{}
		}
		all["sampling"] = sampling
	}
	elicitation := map[string]any{}
	if c.o.Elicit != nil {
		elicitation["form"] = struct{}{}
	}
	if c.o.OpenURL != nil {
		elicitation["url"] = struct{}{}
	}
	if len(elicitation) > 0 {
		all["elicitation"] = elicitation
	}
	if c.o.Roots != nil {
		roots := map[string]any{}
		if r <= mcp.LatestHandshake {
			roots["listChanged"] = true
		}
		all["roots"] = roots
	}
	if capabilities, err = strictjson.Marshal(all); err == nil {
		info, err = strictjson.Marshal(c.o.Info.ForRevision(r))
	}
	return capabilities, info, err
}

// newStatelessMeta returns the members of _meta that every stateless request has.
func (c *Client) newStatelessMeta() ([]byte, error) {
	capabilities, info, err := c.identity(mcp.Latest)
	if err != nil {
		return nil, err
	}
	meta := strictjson.AppendMember(nil, mcp.MetaVersion, strictjson.AppendString(nil, string(mcp.Latest)))
	meta = strictjson.AppendMember(meta, mcp.MetaCapabilities, capabilities)
	return strictjson.AppendMember(meta, mcp.MetaClientInfo, info), nil
}
