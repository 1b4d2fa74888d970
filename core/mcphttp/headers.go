package mcphttp

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/transport"
	"github.com/petrock/petrock/core/strictjson"
)

// CheckRequest implements [transport.Exchange]. Headers that repeat parts of a request must match
// them, so that proxies can rely on the headers.
func (e *exchange) CheckRequest(c transport.Request) error {
	switch {
	case e.version == "":
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header MCP-Protocol-Version is missing; send MCP-Protocol-Version: %s", mcp.Latest)
	case c.Version == "":
		return nil // the session refuses a request without a revision
	case e.version != c.Version:
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header MCP-Protocol-Version is %q, but the request has revision %q", clip(e.version), clip(c.Version))
	case mcp.Revision(c.Version) != mcp.Latest:
		return nil // the session refuses an unsupported revision
	}
	header := e.r.Header
	if err := checkHeader(header, "Mcp-Method", c.Method, true); err != nil {
		return err
	}
	if got := header["Mcp-Method"][0]; got != c.Method { // this header is never base64
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header Mcp-Method is %q, but the request has %q", clip(got), clip(c.Method))
	}
	switch c.Method {
	case "tools/call", "prompts/get", "resources/read":
		if !c.HasTarget {
			return nil // the method reports the error
		}
		if err := checkHeader(header, "Mcp-Name", c.Target, true); err != nil {
			return err
		}
	}
	for _, a := range c.Headers {
		if err := checkArgument(header, a, a.Value(c.Arguments)); err != nil {
			return err
		}
	}
	return nil
}

// checkHeader checks that a header has the value want or, if wanted is false, is missing.
func checkHeader(header http.Header, name, want string, wanted bool) error {
	values := header[name]
	switch {
	case len(values) > 1:
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header %s was sent %d times", name, len(values))
	case len(values) == 0 && wanted:
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header %s is missing; send %q", name, clip(want))
	case len(values) == 0:
		return nil
	case !wanted:
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header %s is %q, but the request has no such value", name, clip(values[0]))
	}
	got, ok := decodeHeader(values[0])
	if !ok {
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header %s is not valid base64 between =?base64? and ?=", name)
	}
	if got != want {
		return jsonrpc.Errorf(mcp.HeaderMismatch, "header %s is %q, but the request has %q", name, clip(got), clip(want))
	}
	return nil
}

// decodeHeader returns the value of a header, decoded if it is base64 between =?base64? and ?=.
func decodeHeader(value string) (text string, ok bool) {
	inner, hasPrefix := strings.CutPrefix(value, "=?base64?")
	inner, hasSuffix := strings.CutSuffix(inner, "?=")
	if !hasPrefix || !hasSuffix {
		return value, true
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(inner)
	return string(raw), err == nil && utf8.Valid(raw) && !strings.ContainsAny(inner, "\r\n")
}

// checkArgument compares a header with the argument that it repeats. It accepts arguments of the
// wrong type, which the input schema refuses.
func checkArgument(header http.Header, a transport.HeaderArgument, value json.RawMessage) error {
	switch first := strictjson.First(value); {
	case first == 0 || first == 'n':
		return checkHeader(header, a.Header, "", false)
	case a.Type == "string" && first == '"':
		text, _ := strictjson.Unquote(value)
		return checkHeader(header, a.Header, text, true)
	case a.Type == "boolean" && (first == 't' || first == 'f'):
		return checkHeader(header, a.Header, string(value), true)
	case a.Type == "integer" && (first == '-' || first >= '0' && first <= '9'):
		want := string(value)
		if values := header[a.Header]; len(values) == 1 && sameNumber(values[0], want) {
			return nil
		}
		return checkHeader(header, a.Header, want, true)
	}
	return nil
}

// sameNumber reports whether two texts are the same integer, within the range that a float64
// represents exactly.
func sameNumber(a, b string) bool {
	const limit = 1<<53 - 1
	if len(a) > len("-9007199254740991") {
		return false
	}
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && x == y && x >= -limit && x <= limit && !strings.ContainsAny(a, "xXpP_")
}
