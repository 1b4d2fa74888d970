package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp/transport"
	"github.com/petrock/petrock/core/strictjson"
)

// A Cache says how long clients may cache a result. The zero value disables caching. Revisions before
// 2026-07-28 ignore it.
type Cache struct {
	TTL    time.Duration
	Public bool // the result is the same for all users
}

// wrapStateless adds the members that results have in the stateless era: the result type, the
// serverInfo and, if the method is cached, the cache lifetime.
func (s *Server) wrapStateless(c *Call, m method, result any) (any, error) {
	if answer, ok := result.(*toolAnswer); ok {
		return answer, nil // it adds them itself
	}
	raw, err := encode(result)
	if err != nil {
		return nil, fmt.Errorf("encode the result of %s: %w", c.Method, err)
	}
	const complete = `"complete"`
	meta := Meta{}
	var rest []byte
	kind := []byte(complete)
	err = strictjson.Object(raw, func(key, value []byte) error {
		switch string(key) {
		case "resultType":
			kind = value
		case "_meta":
			if strictjson.First(value) == '{' {
				return strictjson.Members(value, func(key, value []byte) error {
					meta[string(key)] = json.RawMessage(value)
					return nil
				})
			}
		default:
			rest = strictjson.AppendMember(append(rest, ','), string(key), value)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the result of %s is not an object: %w", c.Method, err)
	}
	out := append([]byte(`{"resultType":`), kind...)
	if m.cached && string(kind) == complete {
		scope := "private"
		if c.cache.Public {
			scope = "public"
		}
		out = fmt.Appendf(out, `,"ttlMs":%d,"cacheScope":"%s"`, max(c.cache.TTL, 0).Milliseconds(), scope)
	}
	out, err = appendMeta(append(out, rest...), meta, s.resultInfo)
	return json.RawMessage(append(out, '}')), err
}

// encode encodes v as JSON. It is faster than strictjson.Marshal for an Appender.
func encode(v any) (json.RawMessage, error) {
	if a, ok := v.(jsonrpc.Appender); ok {
		return a.AppendJSON(nil)
	}
	return strictjson.Marshal(v)
}

func (s *Session) handshakeRequest(call *Call) (any, error) {
	agreed := s.agreed.Load()
	call.Session, call.client, call.Revision = s, &agreed.client, agreed.revision
	if call.Method == "initialize" {
		return s.serve(call, method{run: withParams(s.initialize)}, nil)
	}
	m, known := s.server.methods[call.Method]
	return s.serve(call, m, s.checkMethod(call.Method, m, known && m.era != statelessEra))
}

// checkMethod returns an error if the session does not serve a request in its state. It always serves
// ping.
func (s *Session) checkMethod(name string, m method, known bool) error {
	if name == "ping" {
		return nil
	}
	name = short(name)
	switch state := s.State(); {
	case state == Shutdown:
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s: the session is shutting down", name)
	case strings.HasPrefix(name, "notifications/"):
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s is a notification; send it without an id", name)
	case state == Created:
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "%s: the session is not initialized; send initialize and then notifications/initialized, or set %q and %q in the params._meta of every request", name, MetaVersion, MetaCapabilities)
	case state == Initializing:
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s: the session is not initialized; send notifications/initialized first", name)
	case !known:
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "unknown method %q", name)
	case m.capability != "" && !s.agreed.Load().declared.Has(m.capability):
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: this server did not declare the capability %s", name, m.capability)
	}
	return nil
}

type initializeParams struct {
	ProtocolVersion *Revision       `json:"protocolVersion"`
	Capabilities    Capabilities    `json:"capabilities"`
	ClientInfo      json.RawMessage `json:"clientInfo"`
}

type initializeResult struct {
	ProtocolVersion Revision       `json:"protocolVersion"`
	Capabilities    Capabilities   `json:"capabilities"`
	ServerInfo      Implementation `json:"serverInfo"`
	Instructions    string         `json:"instructions,omitempty"`
}

// initialize negotiates the revision. protocolVersion is required; clientInfo and capabilities are
// optional.
func (s *Session) initialize(_ context.Context, c *Call, p *initializeParams) (any, error) {
	if c.req.InBatch() {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize must not be part of a batch")
	}
	switch s.State() {
	case Created:
	case Shutdown:
		return nil, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize: the session is shutting down")
	default:
		return nil, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize: the session is already initialized")
	}
	if p.ProtocolVersion == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "initialize needs a protocolVersion, such as %q", LatestHandshake)
	}
	info, err := readInfo(p.ClientInfo)
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of initialize: clientInfo: %v", err)
	}
	if err := c.reserve(len(c.Params)); err != nil {
		return nil, err
	}
	revision := *p.ProtocolVersion
	if !slices.Contains(HandshakeRevisions(), revision) {
		revision = LatestHandshake
	}
	declared := s.server.capabilities()
	s.agreed.Store(&agreement{client{info: info, capabilities: p.Capabilities}, revision, declared})
	s.state.CompareAndSwap(int32(Created), int32(Initializing))
	s.conn.SetDialect(jsonrpc.Dialect{Batches: revision == Revision20250326, NullID: revision < Revision20251125})
	sent := maps.Clone(declared)
	if revision < Revision20250326 {
		delete(sent, "completions") // the revision has the method, but not the capability
	}
	return initializeResult{revision, sent, s.server.info.ForRevision(revision), s.server.o.Instructions}, nil
}

func (s *Server) declares(capability string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.declared[capability]
}

func (s *Server) capabilities() Capabilities {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := Capabilities{"logging": json.RawMessage(`{}`)}
	for kind, declared := range s.declared {
		switch {
		case !declared:
		case kind == "completions":
			c[kind] = json.RawMessage(`{}`)
		case kind == "resources":
			c[kind] = json.RawMessage(`{"subscribe":true,"listChanged":true}`)
		default:
			c[kind] = json.RawMessage(`{"listChanged":true}`)
		}
	}
	return c
}

// The error codes of revision 2026-07-28.
const (
	HeaderMismatch     jsonrpc.Code = -32020 // an HTTP header does not match the request
	MissingCapability  jsonrpc.Code = -32021 // the client does not declare a capability that the request needs
	UnsupportedVersion jsonrpc.Code = -32022 // the request names an unsupported revision
)

func (s *Session) statelessRequest(call *Call, sp *statelessParams) (any, error) {
	call.Revision = Latest
	m, known := s.server.methods[call.Method]
	refusal := s.checkStateless(call, sp, m, known && m.era != handshakeEra)
	result, err := s.serve(call, m, refusal)
	if err != nil {
		return nil, statelessError(err)
	}
	return s.server.wrapStateless(call, m, result)
}

// checkStateless reads the _meta of a request, and returns an error if the request is refused.
func (s *Session) checkStateless(call *Call, sp *statelessParams, m method, known bool) error {
	if err := call.readStateless(sp); err != nil {
		return &transport.StatelessError{Err: err, Malformed: true}
	}
	name := short(call.Method)
	switch {
	case s.State() == Shutdown:
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s: the server is shutting down", name)
	case call.req.InBatch():
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s: revision %s has no batches; send one message at a time", name, call.Revision)
	case strings.HasPrefix(name, "notifications/"):
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s is a notification; send it without an id", name)
	case !known:
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "revision %s has no method %q", call.Revision, name)
	case m.capability != "" && !s.server.declares(m.capability):
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: this server does not declare the capability %s", name, m.capability)
	case m.mayAsk:
		return call.readAnswers(sp)
	}
	return nil
}

func (c *Call) readStateless(sp *statelessParams) error {
	version, ok := strictjson.Unquote(sp.version)
	if c.responder != nil {
		if err := c.responder.CheckRequest(c.forTransport(version)); err != nil {
			return err
		}
	}
	if sp.version == nil {
		if c.responder != nil && !slices.Contains(Revisions(), Revision(c.responder.Origin().Version)) {
			return unsupportedError(c.responder.Origin().Version)
		}
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "params._meta needs %q and %q; to start a session, send initialize", MetaVersion, MetaCapabilities)
	}
	if !ok {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta[%q] must be a string, got %s", MetaVersion, strictjson.Describe(sp.version))
	}
	if Revision(version) != Latest {
		return unsupportedError(version)
	}
	if sp.capabilities == nil {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "params._meta needs %q; use {} for a client without capabilities", MetaCapabilities)
	}
	if strictjson.First(sp.capabilities) != '{' {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta[%q] must be an object, got %s", MetaCapabilities, strictjson.Describe(sp.capabilities))
	}
	if err := checkInfo(sp.info); err != nil {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta[%q] %v", MetaClientInfo, err)
	}
	c.rawInfo, c.rawCapabilities = sp.info, sp.capabilities
	if sp.level == nil {
		return nil
	}
	level, _ := strictjson.Unquote(sp.level)
	if !slices.Contains(Levels(), Level(level)) {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta[%q]: unknown level; use one of %q", MetaLogLevel, Levels())
	}
	c.level = new(Level(level))
	return nil
}

// forTransport returns the request as a transport sees it. version is the revision that it names.
func (c *Call) forTransport(version string) transport.Request {
	r := transport.Request{
		Version:   version,
		Method:    c.Method,
		Target:    c.Target,
		HasTarget: strictjson.First(c.target) == '"',
		Arguments: c.arguments,
	}
	if t, ok := c.via.server.tools.get(c.Target); ok && c.Method == "tools/call" {
		r.Headers = t.headerArguments
	}
	return r
}

// unsupportedError returns the error for a request that names an unsupported revision.
func unsupportedError(version string) error {
	data, _ := strictjson.Marshal(struct { // strings always encode
		Supported []Revision `json:"supported"`
		Requested string     `json:"requested"`
	}{Revisions(), short(version)})
	msg := fmt.Sprintf("unsupported protocol version %q", short(version))
	if slices.Contains(HandshakeRevisions(), Revision(version)) {
		msg = "revision " + version + " needs a session; send initialize first, or use revision " + string(Latest)
	}
	return &jsonrpc.Error{Code: UnsupportedVersion, Message: msg, Data: data}
}

// statelessError converts err to an error with the codes of the stateless era.
func statelessError(err error) error {
	if _, ok := errors.AsType[*transport.StatelessError](err); ok {
		return err
	}
	if errors.Is(err, ResourceNotFound) {
		renamed := jsonrpc.Error{Message: err.Error()}
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
			renamed = *e
		}
		renamed.Code = jsonrpc.InvalidParams
		err = &renamed
	}
	return &transport.StatelessError{Err: err}
}

type discoverResult struct {
	Meta              Meta         `json:"_meta"`
	SupportedVersions []Revision   `json:"supportedVersions"`
	Capabilities      Capabilities `json:"capabilities"`
	Instructions      string       `json:"instructions,omitempty"`
}

func (s *Server) discover(_ context.Context, c *Call) (any, error) {
	c.cache = s.o.ListCache
	meta := Meta{MetaServerInfo: s.info} // in full, unlike in other results
	return discoverResult{meta, Revisions(), s.capabilities(), s.o.Instructions}, nil
}
