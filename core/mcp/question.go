package mcp

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/internal/form"
	"github.com/petrock/petrock/core/internal/jsonschema"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A Question asks the client for input. It is an [*Elicitation], a [*URLElicitation], a [*Sampling]
// or a [*RootList]; other packages cannot implement it. [Ask] sends it and stores the answer in it,
// so use a new one for each call.
type Question interface {
	name() string // the key of the question; may be empty
	needs() need

	// request returns the request for clients of a revision, or an error if the question is invalid
	// or the revision cannot express it.
	request(Revision) (method string, params any, err error)

	// setAnswer checks and stores the client's answer.
	setAnswer(raw json.RawMessage) error
}

// An inputRequest is a question as the client gets it.
type inputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// A need is a capability that a client must declare before it can be asked a question.
type need struct {
	capability string
	part       string   // a required member of the capability; may be empty
	since      Revision // the first revision that has it
	implied    bool     // an empty capability includes the part
}

// isMet reports whether a client of revision r with these capabilities can be asked.
func (n need) isMet(r Revision, c Capabilities) bool {
	if r < n.since || !c.Has(n.capability) {
		return false
	}
	if n.part == "" {
		return true
	}
	parts := Capabilities{}
	if strictjson.First(c[n.capability]) == '{' && strictjson.Unmarshal(c[n.capability], &parts) != nil {
		return false
	}
	return parts.Has(n.part) || n.implied && len(parts) == 0
}

// A CannotAskError means that the client has not declared the capabilities that a question needs.
// If a handler returns it, a client of revision 2026-07-28 gets the error code [MissingCapability].
type CannotAskError struct {
	Required Capabilities // the missing capabilities
	revision Revision     // of the client
	since    Revision     // the first revision that has all of them
}

func (e *CannotAskError) Error() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(e.Required)) {
		names = append(names, name+" "+string(e.Required[name]))
	}
	text := "this needs a client that declares the capability " + strings.Join(names, " and ")
	if e.revision < e.since {
		text += fmt.Sprintf(", which revision %s does not have; connect with %s or newer", e.revision, e.since)
	}
	return text
}

// Unwrap returns the error response in revisions that have a code for it, else nil.
func (e *CannotAskError) Unwrap() error {
	if !e.revision.stateless() {
		return nil
	}
	// checkCanAsk has made Required, so it always encodes.
	data, _ := strictjson.Marshal(map[string]any{"requiredCapabilities": e.Required})
	return &jsonrpc.Error{Code: MissingCapability, Message: e.Error(), Data: data}
}

// A RefusedError is the error response of a client to a question. Only sessions have it: in
// revision 2026-07-28, a client that refuses does not repeat the call.
type RefusedError struct {
	Key     string // of the question
	Code    jsonrpc.Code
	Message string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the client refused to answer %q: %s", e.Key, e.Message)
}

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
