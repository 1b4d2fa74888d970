package mcp

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// checkHeaders holds a request against the headers that repeat parts of it, so that those who pass it on may go by them.
func (c *Call) checkHeaders() error {
	header := c.web.r.Header
	if err := mirror(header, "Mcp-Method", c.Method, true); err != nil {
		return err
	}
	if got := header["Mcp-Method"][0]; got != c.Method { // unlike the others it is never in base64, where nobody would look for it
		return jsonrpc.Errorf(HeaderMismatch, "the header Mcp-Method says %q, and the request %q", short(got), short(c.Method))
	}
	switch c.Method {
	case "tools/call", "prompts/get", "resources/read":
		if strictjson.First(c.target) != '"' {
			return nil // the method says what is wrong
		}
		if err := mirror(header, "Mcp-Name", c.Target, true); err != nil {
			return err
		}
	}
	if c.Method != "tools/call" {
		return nil
	}
	t, ok := c.via.server.tools.get(c.Target)
	if !ok {
		return nil
	}
	for _, m := range t.headerArguments {
		if err := m.check(header, c.arguments); err != nil {
			return err
		}
	}
	return nil
}

// mirror checks that a header says what the request says, or is missing if that says nothing.
func mirror(header http.Header, name, want string, there bool) error {
	values := header[name]
	switch {
	case len(values) > 1:
		return jsonrpc.Errorf(HeaderMismatch, "the header %s stands there %d times", name, len(values))
	case len(values) == 0 && there:
		return jsonrpc.Errorf(HeaderMismatch, "the header %s is missing: it repeats %q", name, short(want))
	case len(values) == 0:
		return nil
	case !there:
		return jsonrpc.Errorf(HeaderMismatch, "the header %s says %q, and the request nothing", name, short(values[0]))
	}
	got, ok := decodeHeader(values[0])
	if !ok {
		return jsonrpc.Errorf(HeaderMismatch, "the header %s is no good base64 between =?base64? and ?=", name)
	}
	if got != want {
		return jsonrpc.Errorf(HeaderMismatch, "the header %s says %q, and the request %q", name, short(got), short(want))
	}
	return nil
}

// decodeHeader reads the value of a header, which is in base64 if it could not stand there otherwise.
func decodeHeader(value string) (text string, ok bool) {
	inner, begins := strings.CutPrefix(value, "=?base64?")
	inner, ends := strings.CutSuffix(inner, "?=")
	if !begins || !ends {
		return value, true
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(inner)
	return string(raw), err == nil && utf8.Valid(raw) && !strings.ContainsAny(inner, "\r\n")
}

// check compares the header with the argument. The input schema refuses arguments of the wrong type.
func (a HeaderArgument) check(header http.Header, arguments json.RawMessage) error {
	value := a.in(arguments)
	switch first := strictjson.First(value); {
	case first == 0 || first == 'n':
		return mirror(header, a.Header, "", false)
	case a.Type == "string" && first == '"':
		text, _ := strictjson.Unquote(value)
		return mirror(header, a.Header, text, true)
	case a.Type == "boolean" && (first == 't' || first == 'f'):
		return mirror(header, a.Header, string(value), true)
	case a.Type == "integer" && (first == '-' || first >= '0' && first <= '9'):
		want := string(value)
		if values := header[a.Header]; len(values) == 1 && sameNumber(values[0], want) {
			return nil
		}
		return mirror(header, a.Header, want, true)
	}
	return nil
}

// memberOf returns a member of an object, or nil.
func memberOf(object json.RawMessage, name string) (value json.RawMessage) {
	if strictjson.First(object) != '{' {
		return nil
	}
	_ = strictjson.Members(object, func(key, v []byte) error {
		if string(key) == name {
			value = v
		}
		return nil
	})
	return value
}

// sameNumber reports whether two texts are one number of those that all clients can tell apart. More digits than these need
// are of another number.
func sameNumber(a, b string) bool {
	const most = 1<<53 - 1
	if len(a) > len("-9007199254740991") {
		return false
	}
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && x == y && x >= -most && x <= most && !strings.ContainsAny(a, "xXpP_")
}
