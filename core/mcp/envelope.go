package mcp

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// A Cache tells clients how long they may keep what they have read. The zero value
// has them ask again each time. Revisions before 2026-07-28 know nothing of it.
type Cache struct {
	TTL    time.Duration // how long it holds
	Public bool          // whether it is the same for everyone who may ask
}

// envelop gives a result the form that it has in the stateless era: it says what kind of
// result it is, who gave it and, if it is one that is kept, for how long.
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
			rest = appendMember(rest, string(key), value)
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
		out = appendMember(append(out, ','), "cacheScope", strictjson.AppendString(nil, scope))
	}
	if rest != nil {
		out = append(append(out, ','), rest...)
	}
	if meta, err = s.signMeta(meta); err != nil {
		return nil, fmt.Errorf("the _meta of the result of %s: %w", c.Method, err)
	}
	out = appendMember(append(out, ','), "_meta", meta)
	return json.RawMessage(append(out, '}')), nil
}

// A signedResult is the result of a tool in the form that it has in the stateless era. It is written at once, and not read again.
type signedResult struct {
	checkedResult
	by *Server
}

// AppendJSON appends the result as JSON.
func (r signedResult) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `{"resultType":"complete"`...)
	open := len(dst)
	dst, err := r.checkedResult.AppendJSON(dst)
	if err != nil {
		return dst, err
	}
	dst[open] = ','
	dst = append(dst[:len(dst)-1], `,"_meta":{"`+metaServerInfo+`":`...)
	dst = append(dst, r.by.card...)
	return append(dst, "}}"...), nil
}

// encode is strictjson.Marshal, and quicker for what encodes itself.
func encode(v any) (json.RawMessage, error) {
	if a, ok := v.(interface {
		AppendJSON(dst []byte) ([]byte, error)
	}); ok {
		return a.AppendJSON(nil)
	}
	return strictjson.Marshal(v)
}

// signMeta adds who the server is to the _meta of a result, unless that says it already.
func (s *Server) signMeta(meta []byte) ([]byte, error) {
	own := []byte{}
	signed := false
	if meta != nil && meta[0] != 'n' {
		err := strictjson.Object(meta, func(key, value []byte) error {
			signed = signed || string(key) == metaServerInfo
			own = appendMember(own, string(key), value)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if !signed {
		own = appendMember(own, metaServerInfo, s.card)
	}
	return append(append([]byte{'{'}, own...), '}'), nil
}
