package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A Cache says how long clients may cache a result. With the zero value they ask again each time.
// Revisions before 2026-07-28 do not have it.
type Cache struct {
	TTL    time.Duration // how long it holds
	Public bool          // whether it is the same for everyone who may ask
}

// envelop returns a result in the form of the stateless era: with its type, the name of the server and,
// if it may be cached, for how long.
func (s *Server) envelop(c *Call, m method, result any) (any, error) {
	if r, ok := result.(checkedResult); ok && len(r.Meta) == 0 {
		return signedResult{r, s}, nil
	}
	raw, err := encode(result)
	if err != nil {
		return nil, fmt.Errorf("encoding the result of %s: %w", c.Method, err)
	}
	var kind, meta, rest []byte
	err = strictjson.Object(raw, func(key, value []byte) error {
		switch string(key) {
		case "resultType":
			if string(value) != `"complete"` {
				kind = value
			}
		case "_meta":
			meta = value
		default:
			rest = strictjson.AppendMember(rest, string(key), value)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the result of %s is not an object: %w", c.Method, err)
	}
	out := []byte(`{"resultType":`)
	if kind != nil {
		out = append(out, kind...)
	} else {
		out = append(out, `"complete"`...)
	}
	if m.cached && kind == nil {
		out = append(out, `,"ttlMs":`...)
		out = strconv.AppendInt(out, max(c.cache.TTL, 0).Milliseconds(), 10)
		scope := "private"
		if c.cache.Public {
			scope = "public"
		}
		out = strictjson.AppendMember(append(out, ','), "cacheScope", strictjson.AppendString(nil, scope))
	}
	if rest != nil {
		out = append(append(out, ','), rest...)
	}
	if meta, err = s.signMeta(meta); err != nil {
		return nil, fmt.Errorf("the _meta of the result of %s: %w", c.Method, err)
	}
	out = strictjson.AppendMember(append(out, ','), "_meta", meta)
	return json.RawMessage(append(out, '}')), nil
}

// A signedResult is the result of a tool in the form of the stateless era. It is encoded in one pass.
type signedResult struct {
	checkedResult
	by *Server
}

func (r signedResult) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `{"resultType":"complete"`...)
	open := len(dst)
	dst, err := r.checkedResult.AppendJSON(dst)
	if err != nil {
		return dst, err
	}
	dst[open] = ','
	dst = append(dst[:len(dst)-1], `,"_meta":{"`+MetaServerInfo+`":`...)
	dst = append(dst, r.by.card...)
	return append(dst, "}}"...), nil
}

// encode is strictjson.Marshal, but faster for values that encode themselves.
func encode(v any) (json.RawMessage, error) {
	if a, ok := v.(interface {
		AppendJSON(dst []byte) ([]byte, error)
	}); ok {
		return a.AppendJSON(nil)
	}
	return strictjson.Marshal(v)
}

// signMeta adds the name of the server to the _meta of a result, unless it is there.
func (s *Server) signMeta(meta []byte) ([]byte, error) {
	own := []byte{}
	signed := false
	if meta != nil && meta[0] != 'n' {
		err := strictjson.Object(meta, func(key, value []byte) error {
			signed = signed || string(key) == MetaServerInfo
			own = strictjson.AppendMember(own, string(key), value)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if !signed {
		own = strictjson.AppendMember(own, MetaServerInfo, s.card)
	}
	return append(append([]byte{'{'}, own...), '}'), nil
}

func (s *Session) handshakeRequest(call *Call) (any, error) {
	agreed := s.agreement()
	call.Session, call.client, call.Revision = s, &agreed.client, agreed.revision
	if call.Method == "initialize" {
		return s.serve(call, method{run: typed(s.initialize)}, nil)
	}
	m, known := s.server.methods[call.Method]
	known = known && m.in != statelessEra
	var refusal error
	if s.State() != Operating || !known || m.capability != "" && !agreed.offered.Has(m.capability) {
		refusal = s.refuse(call.Method, m, known)
	}
	return s.serve(call, m, refusal)
}

// refuse returns why the session does not serve a request yet, or not at all. It always serves ping.
func (s *Session) refuse(name string, m method, known bool) error {
	if name == "ping" {
		return nil
	}
	name = short(name)
	switch state := s.State(); {
	case state == Shutdown:
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s came too late: the session is shutting down", name)
	case strings.HasPrefix(name, "notifications/"):
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s is a notification: send it without an id", name)
	case state == Created:
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "%s came before the handshake: send initialize first, then notifications/initialized; or name the revision with every request, as %q and %q in params._meta", name, MetaVersion, MetaCapabilities)
	case state == Initializing:
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s came too early: send notifications/initialized first", name)
	case !known:
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "unknown method %q", name)
	case m.capability != "" && !s.agreement().offered.Has(m.capability):
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: this server did not offer %s", name, m.capability)
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

// initialize agrees on a revision. clientInfo and capabilities are optional, protocolVersion is required.
func (s *Session) initialize(_ context.Context, c *Call, p *initializeParams) (any, error) {
	if c.req.InBatch() {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize must not be part of a batch")
	}
	switch s.State() {
	case Created:
	case Shutdown:
		return nil, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize came too late: the session is shutting down")
	default:
		return nil, jsonrpc.Errorf(jsonrpc.InvalidRequest, "initialize came again: this session has been initialized")
	}
	if p.ProtocolVersion == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "initialize needs a protocolVersion, such as %q", LatestHandshake)
	}
	var info Implementation
	if p.ClientInfo != nil {
		var err error
		if info, err = readInfo(p.ClientInfo); err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of initialize: clientInfo: %v", err)
		}
	}
	if err := c.hold(len(c.Params)); err != nil { // the session keeps most of them
		return nil, err
	}
	revision := negotiate(*p.ProtocolVersion)
	offered := s.server.capabilities()
	s.agreed.Store(&agreement{client{info: info, capabilities: p.Capabilities}, revision, offered})
	s.state.CompareAndSwap(int32(Created), int32(Initializing))
	s.conn.SetDialect(revision.dialect())
	told := maps.Clone(offered)
	if revision < Revision20250326 {
		delete(told, "completions") // it has the method, but not the capability
	}
	return initializeResult{revision, told, s.server.info.ForRevision(revision), s.server.o.Instructions}, nil
}

func (s *Server) offered(capability string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.offers[capability]
}

func (s *Server) capabilities() Capabilities {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := Capabilities{"logging": json.RawMessage(`{}`)}
	for kind, offered := range s.offers {
		switch {
		case !offered:
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

// The codes of revision 2026-07-28.
const (
	HeaderMismatch     jsonrpc.Code = -32020 // over HTTP, a header says something else than the request
	MissingCapability  jsonrpc.Code = -32021 // the client cannot do what the request needs
	UnsupportedVersion jsonrpc.Code = -32022 // the request names a revision that is not served this way
)

// statelessRequest handles a request of the stateless era.
func (s *Session) statelessRequest(call *Call, intro *introduction) (any, error) {
	call.Revision = Latest
	m, known := s.server.methods[call.Method]
	refusal := s.admit(call, intro, m, known && m.in != handshakeEra)
	result, err := s.serve(call, m, refusal)
	if err != nil {
		return nil, statelessError(err)
	}
	return s.server.envelop(call, m, result)
}

// admit reads the _meta of a request, and returns an error if the request is refused.
func (s *Session) admit(call *Call, intro *introduction, m method, known bool) error {
	if err := call.introduce(intro); err != nil {
		return &StatelessError{Err: err, Malformed: true}
	}
	name := short(call.Method)
	switch {
	case s.State() == Shutdown:
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s came too late: the server is shutting down", name)
	case call.req.InBatch():
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "revision %s knows no batches: send %s on its own", call.Revision, name)
	case strings.HasPrefix(name, "notifications/"):
		return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s is a notification: send it without an id", name)
	case !known:
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "revision %s has no method %q", call.Revision, name)
	case m.capability != "" && !s.server.offered(m.capability):
		return jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: this server does not offer %s", name, m.capability)
	case m.asks:
		return call.readAnswers(intro)
	}
	return nil
}

func (c *Call) introduce(intro *introduction) error {
	version, ok := strictjson.Unquote(intro.version)
	if c.responder != nil {
		if err := c.responder.CheckRequest(c, version); err != nil {
			return err
		}
	}
	if intro.version == nil {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "params._meta needs %q and %q; a session begins with initialize instead", MetaVersion, MetaCapabilities)
	}
	if !ok {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta[%q] must be a string, got %s", MetaVersion, strictjson.Describe(intro.version))
	}
	if Revision(version) != Latest {
		return UnsupportedError(version)
	}
	if intro.capabilities == nil {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "params._meta needs %q; {} says that the client can do nothing more", MetaCapabilities)
	}
	if strictjson.First(intro.capabilities) != '{' {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta[%q] must be an object, got %s", MetaCapabilities, strictjson.Describe(intro.capabilities))
	}
	if intro.info != nil {
		if err := checkInfo(intro.info); err != nil {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta[%q] %v", MetaClientInfo, err)
		}
	}
	c.info, c.capable = intro.info, intro.capabilities
	return c.readLevel(intro.level)
}

func (c *Call) readLevel(raw []byte) error {
	if raw == nil {
		return nil
	}
	text, _ := strictjson.Unquote(raw)
	level := Level(text)
	if !slices.Contains(Levels(), level) {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta[%q]: unknown level; there are: %q", MetaLogLevel, Levels())
	}
	c.level = &level
	return nil
}

// UnsupportedError returns the error for a request that names a revision which requests cannot name.
func UnsupportedError(version string) error {
	data, _ := strictjson.Marshal(struct { // strings, which cannot fail
		Supported []Revision `json:"supported"`
		Requested string     `json:"requested"`
	}{Revisions(), short(version)})
	msg := fmt.Sprintf("unsupported protocol version %q", short(version))
	if slices.Contains(HandshakeRevisions(), Revision(version)) {
		msg = "revision " + version + " begins with initialize; requests that name their revision are of " + string(Latest)
	}
	return &jsonrpc.Error{Code: UnsupportedVersion, Message: msg, Data: data}
}

// statelessError returns an error with the codes of the stateless era.
func statelessError(err error) error {
	if _, ok := errors.AsType[*StatelessError](err); ok {
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
	return &StatelessError{Err: err}
}

type discoverResult struct {
	Meta              Meta         `json:"_meta"`
	SupportedVersions []Revision   `json:"supportedVersions"`
	Capabilities      Capabilities `json:"capabilities"`
	Instructions      string       `json:"instructions,omitempty"`
}

func (s *Server) discover(_ context.Context, c *Call) (any, error) {
	c.cache = s.o.Lists
	who := Meta{MetaServerInfo: s.info} // all of it; other results only say its name
	return discoverResult{who, Revisions(), s.capabilities(), s.o.Instructions}, nil
}
