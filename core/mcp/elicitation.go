package mcp

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/petrock/petrock/core/internal/form"
	"github.com/petrock/petrock/core/internal/jsonschema"
	"github.com/petrock/petrock/core/strictjson"
)

// An Action is a user's response to an elicitation.
type Action string

// The actions.
const (
	ActionAccept  Action = "accept"  // the user answered
	ActionDecline Action = "decline" // the user declined
	ActionCancel  Action = "cancel"  // the user dismissed the question
)

// An Elicitation asks the user to fill in a form. Do not ask for secrets with it; use a
// [URLElicitation].
type Elicitation struct {
	Key     string // see [Ask]
	Message string // the question

	// Schema describes the form as an object with these kinds of properties:
	//
	//   - strings, with minLength, maxLength and format
	//   - numbers and integers, with minimum and maximum
	//   - booleans
	//   - single choice: enum, or oneOf with const and title
	//   - multiple choice: an array whose items have enum, or anyOf with const and title
	//
	// Each may have a title, a description and a default.
	Schema json.RawMessage

	Action  Action          // the answer
	Content json.RawMessage // the form with its defaults, if Action is ActionAccept
}

// Errors of a question that the user did not answer.
var (
	ErrDeclined  = errors.New("the user declined")
	ErrCancelled = errors.New("the user cancelled")
)

// Decode decodes the form into v, a pointer. If the user did not accept, the error is [ErrDeclined]
// or [ErrCancelled], wrapped.
func (e *Elicitation) Decode(v any) error {
	switch e.Action {
	case ActionAccept:
		return strictjson.Unmarshal(e.Content, v)
	case ActionDecline:
		return fmt.Errorf("%w: %s", ErrDeclined, e.Message)
	}
	return fmt.Errorf("%w: %s", ErrCancelled, e.Message)
}

func (e *Elicitation) name() string { return e.Key }

func (e *Elicitation) needs() need {
	return need{capability: "elicitation", part: "form", since: Revision20250618, implied: true}
}

// elicitParams are the params of elicitation/create, for forms and for URLs.
type elicitParams struct {
	Mode            string          `json:"mode,omitempty"`
	Message         string          `json:"message"`
	RequestedSchema json.RawMessage `json:"requestedSchema,omitempty"`
	URL             string          `json:"url,omitempty"`
	ElicitationID   string          `json:"elicitationId,omitempty"`
	Meta            Meta            `json:"_meta,omitempty"`
}

// MetaKey is the member of _meta with the key of a question, in revisions with sessions. In others,
// the protocol has a place for it.
const MetaKey = "petrock/key"

// request checks the form and converts it for clients of the revision.
func (e *Elicitation) request(r Revision) (string, any, error) {
	p := elicitParams{Mode: "form", Message: e.Message, RequestedSchema: e.Schema}
	err := form.Check(e.Schema)
	if err == nil && r < Revision20251125 {
		p.Mode = ""
		p.RequestedSchema, err = form.Downgrade(e.Schema)
	}
	if err != nil {
		return "", nil, fmt.Errorf("schema: %w", err)
	}
	return "elicitation/create", p, nil
}

// setAnswer stores the action and, if the user accepted, the form. It adds defaults and then
// validates the form, because clients may send anything.
func (e *Elicitation) setAnswer(raw json.RawMessage) error {
	var result elicitResult
	if err := result.read(raw); err != nil {
		return err
	}
	e.Action, e.Content = result.Action, nil
	if e.Action != ActionAccept {
		return nil
	}
	compiled, err := jsonschema.Compile(e.Schema)
	if err != nil {
		return err
	}
	content, err := form.FillDefaults(e.Schema, result.Content)
	if err != nil {
		return err
	}
	if err := compiled.Validate(content); err != nil {
		return fmt.Errorf("content: %w", err)
	}
	e.Content = content
	return nil
}

// An elicitResult is a client's answer to an elicitation.
type elicitResult struct {
	Action  Action          `json:"action"`
	Content json.RawMessage `json:"content"`
}

// read decodes an answer and checks its action.
func (r *elicitResult) read(raw json.RawMessage) error {
	if err := strictjson.Unmarshal(raw, r); err != nil {
		return err
	}
	switch r.Action {
	case ActionAccept, ActionDecline, ActionCancel:
		return nil
	}
	return fmt.Errorf("action must be %q, %q or %q, got %q", ActionAccept, ActionDecline, ActionCancel, short(string(r.Action)))
}

// A URLElicitation sends the user to a web page, for data that must not pass through the client,
// such as a login, a payment or a secret. ActionAccept only means that the page is opened, so check
// on your side whether the user has completed it. The URL must not contain a secret, and the page
// must authenticate the user.
type URLElicitation struct {
	Key     string // see [Ask]
	Message string // the reason
	URL     string // https, or http on localhost

	Action Action // the answer
}

func (e *URLElicitation) name() string { return e.Key }

func (e *URLElicitation) needs() need {
	return need{capability: "elicitation", part: "url", since: Revision20251125}
}

// request refuses URLs without TLS, except on localhost.
func (e *URLElicitation) request(r Revision) (string, any, error) {
	u, err := url.Parse(e.URL)
	switch {
	case err != nil:
		return "", nil, err
	case u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "", nil, errors.New("URL must begin with https:// and have a host")
	case u.Scheme == "http" && !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()):
		return "", nil, errors.New("URL must begin with https://, except on localhost")
	}
	p := elicitParams{Mode: "url", Message: e.Message, URL: e.URL}
	if !r.stateless() {
		p.ElicitationID = rand.Text()
	}
	return "elicitation/create", p, nil
}

func (e *URLElicitation) setAnswer(raw json.RawMessage) error {
	var result elicitResult
	err := result.read(raw)
	e.Action = result.Action
	return err
}
