package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// Logger returns the logger of the call that ctx belongs to, or [slog.Default] outside of a call.
// It logs to the server's log and, if the client asked for messages of that level, to the client.
// Several goroutines may use it. In revisions without sessions, messages after the end of the call
// do not reach the client.
func Logger(ctx context.Context) *slog.Logger {
	c := CallFrom(ctx)
	if c == nil {
		return slog.Default()
	}
	return slog.New(&logHandler{next: c.via.server.o.Logger.Handler(), call: c})
}

// CallLog returns [Options].CallLog, or a logger that discards everything. Transports log the
// requests that they refuse to it.
func (s *Server) CallLog() *slog.Logger { return s.o.CallLog }

// maxLogged limits the bytes of an error, or of params, in the log.
const maxLogged = 2000

// logCall logs a call to the call log. It is deferred, so it takes pointers to the results; *result
// is nil if the handler panicked.
func (s *Session) logCall(c *Call, began time.Time, result *any, err *error) {
	attrs := []slog.Attr{slog.String("method", short(c.Method))}
	if c.method.target != "" {
		attrs = append(attrs, slog.String(c.method.component(), short(c.Target)))
	}
	if c.responder != nil {
		origin := c.responder.Origin()
		attrs = append(attrs, slog.String("caller", origin.Caller))
		if origin.Session != "" {
			attrs = append(attrs, slog.String("session", origin.Session))
		}
	}
	outcome, failed := "ok", c.result != nil && c.result.IsError
	switch {
	case c.ctx.Err() != nil && (*err != nil || failed):
		outcome = "cancelled"
	case *err != nil:
		outcome = "error"
	case *result == nil:
		outcome = "panic"
	case failed:
		outcome = "failed"
	}
	attrs = append(attrs, slog.Float64("took_ms", float64(time.Since(began).Microseconds())/1000),
		slog.String("outcome", outcome), slog.String("request", c.RequestID()), slog.String("id", c.req.ID().String()))
	reason := cmp.Or(c.hidden, *err)
	if reason == nil && failed {
		reason = errors.New(c.result.Text())
	}
	if reason != nil {
		attrs = append(attrs, slog.String("error", strictjson.Clip(reason.Error(), maxLogged)))
	}
	if s.server.o.LogArguments {
		attrs = append(attrs, slog.String("params", strictjson.Clip(string(c.Params), maxLogged)))
	}
	s.server.o.CallLog.LogAttrs(c.ctx, slog.LevelInfo, "call", attrs...)
}

// setLevelParams are the params of logging/setLevel.
type setLevelParams struct {
	Level Level `json:"level"`
}

// setLevel sets the lowest level of log messages that the client of the session gets.
func (s *Server) setLevel(_ context.Context, c *Call, p *setLevelParams) (any, error) {
	if !slices.Contains(levels(), p.Level) {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown level %q; use one of %q", short(string(p.Level)), levels())
	}
	c.Session.level.Store(&p.Level)
	return struct{}{}, nil
}

// A logHandler is the [slog.Handler] of [Logger]. It passes records to next and to the client of
// the call, each only if its level is enabled there.
type logHandler struct {
	next slog.Handler
	call *Call
	with []func(slog.Handler) slog.Handler // the calls of WithAttrs and WithGroup, in order
}

func (h *logHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.next.Enabled(ctx, l) || h.clientWants(l)
}

// clientWants reports whether the client has asked for messages of a level, in its session or in
// the request.
func (h *logHandler) clientWants(l slog.Level) bool {
	level := h.call.level
	if h.call.Session != nil {
		level = h.call.Session.level.Load()
	}
	return level != nil && l >= level.slog()
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.clientWants(r.Level) {
		h.notifyClient(ctx, r)
	}
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// logParams are the params of notifications/message.
type logParams struct {
	Level  Level           `json:"level"`
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data"`
}

// notifyClient sends a record to the client: its message and attributes as one object.
func (h *logHandler) notifyClient(ctx context.Context, r slog.Record) {
	var b bytes.Buffer
	handler := slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: r.Level}).WithGroup("attrs")
	for _, with := range h.with {
		handler = with(handler)
	}
	if handler.Handle(ctx, r) != nil {
		return
	}
	data := strictjson.AppendMember([]byte{'{'}, slog.MessageKey, strictjson.AppendString(nil, r.Message))
	if attrs := strictjson.Member(b.Bytes(), "attrs"); attrs != nil {
		_ = strictjson.Members(attrs, func(key, value []byte) error {
			name := string(key)
			if name == slog.MessageKey {
				name += "_" // avoids a duplicate key
			}
			data = strictjson.AppendMember(data, name, value)
			return nil
		})
	}
	params := logParams{levelOf(r.Level), h.call.via.server.info.Name, dropDuplicates(append(data, '}'))}
	if !h.call.notify("notifications/message", params) && h.call.Session != nil {
		// The call has ended, but the session has not. The context has ended too, so the goroutine
		// that logs does not wait for a client that does not read.
		h.call.Session.notify(h.call.ctx, "notifications/message", params)
	}
}

// dropDuplicates keeps the last of several members with the same key. slog writes all of them, but
// clients may refuse duplicate keys. A line without duplicates, the common case, is not decoded.
func dropDuplicates(line []byte) json.RawMessage {
	var v any
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if strictjson.Check(line) == nil || d.Decode(&v) != nil {
		return line
	}
	once, _ := strictjson.Marshal(v) // decoded JSON always encodes
	return once
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.extend(func(to slog.Handler) slog.Handler { return to.WithAttrs(attrs) })
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return h.extend(func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
}

// extend returns a handler with more attributes or a group, which the client gets too.
func (h *logHandler) extend(with func(slog.Handler) slog.Handler) slog.Handler {
	return &logHandler{next: with(h.next), call: h.call, with: append(slices.Clip(h.with), with)}
}
