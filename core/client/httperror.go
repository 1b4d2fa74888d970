package mcp

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

// An HTTPError says that a server refuses a request of HTTP, or answers with what is no MCP.
type HTTPError struct {
	Status    int
	Text      string // what the server says, shortened
	Challenge string // the header WWW-Authenticate of a server that wants to know who calls

	said    *jsonrpc.Error // if it says it in the words of the protocol
	session bool           // the request named a session
}

func (e *HTTPError) Error() string {
	text := fmt.Sprintf("HTTP status %d (%s)", e.Status, http.StatusText(e.Status))
	if e.said != nil {
		text += ": " + short(e.said.Message)
	} else if e.Text != "" {
		text += ": " + e.Text
	}
	switch {
	case e.Status == http.StatusUnauthorized && e.Challenge != "":
		text += " (" + short(e.Challenge) + ")"
	case e.Status == http.StatusUnauthorized && e.said == nil && e.Text == "":
		text += "; it wants to know who calls: send a key or a token in a header"
	}
	return text
}

// Unwrap is what the server says in the words of the protocol, if it does.
func (e *HTTPError) Unwrap() error {
	if e.said == nil {
		return nil
	}
	return e.said
}

// denied reports whether the server was reached and does not let us in.
func (e *HTTPError) denied() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// refusal is the error for a response, whose body it reads and closes. why is what is wrong if the response does not say it.
func refusal(resp *http.Response, why string) *HTTPError {
	defer resp.Body.Close()
	e := &HTTPError{Status: resp.StatusCode, Challenge: resp.Header.Get("WWW-Authenticate"), Text: why}
	const most = 64 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil || why != "" {
		return e
	}
	if e.said = errorIn(body); e.said == nil && !strings.Contains(mediaType(resp), "html") {
		e.Text = short(strings.ToValidUTF8(strings.TrimSpace(string(body)), "\ufffd"))
	}
	return e
}

// errorIn is the error in a message, if it is one that says an error.
func errorIn(body []byte) *jsonrpc.Error {
	if strictjson.First(body) != '{' || strictjson.Check(body) != nil {
		return nil
	}
	raw := memberOf(body, "error")
	var e jsonrpc.Error
	if strictjson.First(raw) != '{' || strictjson.Unmarshal(raw, &e) != nil || e.Code == 0 {
		return nil
	}
	return &e
}

func mediaType(resp *http.Response) string {
	switch text := resp.Header.Get("Content-Type"); text {
	case "application/json", "text/event-stream":
		return text
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || kind == "" {
		return "no type of content"
	}
	return kind
}

// readBody reads all of a body that is not too large.
func readBody(resp *http.Response, most int) ([]byte, error) {
	if n := resp.ContentLength; n >= 0 && n <= int64(most) {
		body := make([]byte, n)
		_, err := io.ReadFull(resp.Body, body)
		return body, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	if err == nil && len(body) > most {
		err = fmt.Errorf("its answer is larger than %d bytes", most)
	}
	return body, err
}

// discard reads a little of a body that nobody wants, so that the connection can be used again, and closes it.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	resp.Body.Close()
}

// plainly leaves out what net/http says of method and address, which the error names already.
func plainly(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
