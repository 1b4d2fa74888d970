package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// The codes of revision 2026-07-28.
const (
	HeaderMismatch     jsonrpc.Code = -32020 // over HTTP, a header says something else than the request
	MissingCapability  jsonrpc.Code = -32021 // the client cannot do what the request needs
	UnsupportedVersion jsonrpc.Code = -32022 // the request names a revision that is not served this way
)

// statelessRequest takes a request of the era in which each one says in which revision it is
// and what its client can do. Nothing is inferred from those before it.
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

// admit reads what the request says of itself, and says what is wrong with it.
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

// introduce reads from _meta who calls, what the client can do and in which revision it speaks.
func (c *Call) introduce(intro *introduction) error {
	version, ok := strictjson.Unquote(intro.version)
	if c.responder != nil {
		if err := c.responder.CheckRequest(c, version); err != nil {
			return err
		}
	}
	if intro.version == nil {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "params._meta needs %q and %q; a session begins with initialize instead", metaVersion, metaCapabilities)
	}
	if !ok {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta[%q] must be a string, got %s", metaVersion, strictjson.Describe(intro.version))
	}
	if Revision(version) != Latest {
		return unsupported(version)
	}
	if intro.capabilities == nil {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "params._meta needs %q; {} says that the client can do nothing more", metaCapabilities)
	}
	if strictjson.First(intro.capabilities) != '{' {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta[%q] must be an object, got %s", metaCapabilities, strictjson.Describe(intro.capabilities))
	}
	if intro.info != nil {
		if err := checkInfo(intro.info); err != nil {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta[%q] %v", metaClientInfo, err)
		}
	}
	c.info, c.capable = intro.info, intro.capabilities
	return c.readLevel(intro.level)
}

// readLevel reads which log messages the client wants for this call.
func (c *Call) readLevel(raw []byte) error {
	if raw == nil {
		return nil
	}
	text, _ := strictjson.Unquote(raw)
	level := Level(text)
	if !slices.Contains(Levels(), level) {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "_meta[%q]: unknown level; there are: %q", metaLogLevel, Levels())
	}
	c.level = &level
	return nil
}

// unsupported is the error for a revision that requests cannot name.
func unsupported(version string) error {
	data, err := strictjson.Marshal(struct {
		Supported []Revision `json:"supported"`
		Requested string     `json:"requested"`
	}{Revisions(), short(version)})
	if err != nil {
		return err
	}
	msg := fmt.Sprintf("unsupported protocol version %q", short(version))
	if slices.Contains(HandshakeRevisions(), Revision(version)) {
		msg = "revision " + version + " begins with initialize; requests that name their revision are of " + string(Latest)
	}
	return &jsonrpc.Error{Code: UnsupportedVersion, Message: msg, Data: data}
}

// statelessError makes an error one of this era, which has another code for resources that do not exist.
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
	c.cache = s.lists
	who := Meta{metaServerInfo: s.info} // all of it; other results only say its name
	return discoverResult{who, Revisions(), s.capabilities(), s.instructions}, nil
}
