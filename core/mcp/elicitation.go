package mcp

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
)

// An Action is what a person did with a question.
type Action string

// The actions.
const (
	ActionAccept  Action = "accept"  // gave an answer
	ActionDecline Action = "decline" // said no
	ActionCancel  Action = "cancel"  // turned away without an answer
)

// An Elicitation asks the person in front of the client to fill in a form. It must not ask
// for secrets: those go through a [URLElicitation].
type Elicitation struct {
	Key     string // see [Ask]
	Message string // what the person is asked

	// Schema describes the form: an object whose properties are strings (with minLength,
	// maxLength and format), numbers and integers (minimum, maximum), booleans, one of several
	// (enum, or oneOf with const and title), or several of them (an array whose items have enum,
	// or anyOf with const and title). Each may have a title, a description and a default.
	Schema json.RawMessage

	Action  Action          // the answer
	Content json.RawMessage // what was filled in, with its defaults, if Action is ActionAccept
}

// Decode fills v, a pointer, from what was filled in. It fails if the person did not accept.
func (e *Elicitation) Decode(v any) error {
	if e.Action != ActionAccept {
		return fmt.Errorf("the person did not accept (%s): %s", e.Action, e.Message)
	}
	return strictjson.Unmarshal(e.Content, v)
}

func (e *Elicitation) name() string { return e.Key }

func (e *Elicitation) needs() need {
	return need{capability: "elicitation", part: "form", since: Revision20250618, implied: true}
}

type elicitParams struct {
	Mode            string          `json:"mode,omitempty"`
	Message         string          `json:"message"`
	RequestedSchema json.RawMessage `json:"requestedSchema,omitempty"`
	URL             string          `json:"url,omitempty"`
	ElicitationID   string          `json:"elicitationId,omitempty"`
}

func (e *Elicitation) request(r Revision) (string, any, error) {
	if _, err := schema.Compile(string(e.Schema)); err != nil {
		return "", nil, fmt.Errorf("its schema: %w", err)
	}
	form, err := formFor(e.Schema, r)
	if err != nil {
		return "", nil, fmt.Errorf("its schema: %w", err)
	}
	p := elicitParams{Message: e.Message, RequestedSchema: form}
	if r >= Revision20251125 {
		p.Mode = "form"
	}
	return "elicitation/create", p, nil
}

type elicitResult struct {
	Action  Action          `json:"action"`
	Content json.RawMessage `json:"content"`
}

// read reads what the person did.
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

func (e *Elicitation) answer(raw json.RawMessage) error {
	var result elicitResult
	if err := result.read(raw); err != nil {
		return err
	}
	e.Action, e.Content = result.Action, nil
	if e.Action != ActionAccept {
		return nil
	}
	form, err := schema.Compile(string(e.Schema))
	if err != nil {
		return err
	}
	content, err := FillDefaults(e.Schema, result.Content)
	if err != nil {
		return err
	}
	if err := form.Validate(content); err != nil {
		return fmt.Errorf("content: %w", err)
	}
	e.Content = content
	return nil
}

// A URLElicitation sends the person in front of the client to a web page, for what must
// not pass through the client: a login, a payment, a secret. That the person accepts means that
// the page is opened; what came of it is for the server to know. The address
// must hold no secret, and the page has to make sure who has come.
type URLElicitation struct {
	Key     string // see [Ask]
	Message string // why
	URL     string // https, or http to this machine

	Action Action // the answer
}

func (e *URLElicitation) name() string { return e.Key }

func (e *URLElicitation) needs() need {
	return need{capability: "elicitation", part: "url", since: Revision20251125}
}

func (e *URLElicitation) request(r Revision) (string, any, error) {
	u, err := url.Parse(e.URL)
	switch {
	case err != nil:
		return "", nil, err
	case u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "", nil, errors.New("its URL must be the address of a web page")
	case u.Scheme == "http" && !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()):
		return "", nil, errors.New("its URL must begin with https, unless it leads to this machine")
	}
	p := elicitParams{Mode: "url", Message: e.Message, URL: e.URL}
	if !r.stateless() {
		p.ElicitationID = rand.Text()
	}
	return "elicitation/create", p, nil
}

func (e *URLElicitation) answer(raw json.RawMessage) error {
	var result elicitResult
	err := result.read(raw)
	e.Action = result.Action
	return err
}
