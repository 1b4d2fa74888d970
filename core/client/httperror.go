package client

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// An HTTPError says that a server refuses an HTTP request, or answers with something that is not MCP.
type HTTPError struct {
	Status    int
	Text      string // the body, shortened
	Challenge string // the header WWW-Authenticate

	answer  *jsonrpc.Error // if the body is a JSON-RPC error
	session bool           // the request had a session id
}

func (e *HTTPError) Error() string {
	text := fmt.Sprintf("HTTP status %d (%s)", e.Status, http.StatusText(e.Status))
	if e.answer != nil {
		text += ": " + short(e.answer.Message)
	} else if e.Text != "" {
		text += ": " + e.Text
	}
	switch {
	case e.Status == http.StatusUnauthorized && e.Challenge != "":
		text += " (" + short(e.Challenge) + ")"
	case e.Status == http.StatusUnauthorized && e.answer == nil && e.Text == "":
		text += "; send an API key or a token in a header"
	}
	return text
}

// Unwrap returns the JSON-RPC error that the server has answered with, if any.
func (e *HTTPError) Unwrap() error {
	if e.answer == nil {
		return nil
	}
	return e.answer
}

// isDenied reports whether the client lacks permission.
func (e *HTTPError) isDenied() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// newHTTPError makes an error of a response, and closes its body. The text of the error is why, or the
// body if that is empty.
func newHTTPError(resp *http.Response, why string) *HTTPError {
	defer resp.Body.Close()
	e := &HTTPError{Status: resp.StatusCode, Challenge: resp.Header.Get("WWW-Authenticate"), Text: why}
	const limit = 64 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	if err != nil || why != "" {
		return e
	}
	if e.answer = errorIn(body); e.answer == nil && !strings.Contains(mediaType(resp), "html") {
		e.Text = short(strings.ToValidUTF8(strings.TrimSpace(string(body)), "\ufffd"))
	}
	return e
}

// errorIn returns the error of a JSON-RPC response, or nil.
func errorIn(body []byte) *jsonrpc.Error {
	if strictjson.First(body) != '{' || strictjson.Check(body) != nil {
		return nil
	}
	raw := member(body, "error")
	var e jsonrpc.Error
	if strictjson.First(raw) != '{' || strictjson.Unmarshal(raw, &e) != nil || e.Code == 0 {
		return nil
	}
	return &e
}

// mediaType returns the media type of a response, such as application/json.
func mediaType(resp *http.Response) string {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || kind == "" {
		return "no content type"
	}
	return kind
}

// readBody reads a body of at most limit bytes.
func readBody(resp *http.Response, limit int) ([]byte, error) {
	if n := resp.ContentLength; n >= 0 && n <= int64(limit) {
		body := make([]byte, n)
		_, err := io.ReadFull(resp.Body, body)
		return body, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err == nil && len(body) > limit {
		err = fmt.Errorf("the response is larger than %d bytes", limit)
	}
	return body, err
}

// discard closes a response. It reads the rest of a short body, so that the connection can be reused.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	resp.Body.Close()
}

// withoutURL unwraps a [*url.Error]: its URL may have secrets, and errors name the server anyway.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
