package mcp

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/petrock/petrock/core/schema"
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

// Decode decodes the form into v, a pointer. It fails if the user did not accept.
func (e *Elicitation) Decode(v any) error {
	if e.Action != ActionAccept {
		return fmt.Errorf("the user did not accept (%s): %s", e.Action, e.Message)
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
	_, err := schema.Compile(e.Schema)
	form := e.Schema
	if err == nil {
		form, err = adaptForm(form, r)
	}
	if err != nil {
		return "", nil, fmt.Errorf("schema: %w", err)
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

func (e *Elicitation) setAnswer(raw json.RawMessage) error {
	var result elicitResult
	if err := result.read(raw); err != nil {
		return err
	}
	e.Action, e.Content = result.Action, nil
	if e.Action != ActionAccept {
		return nil
	}
	form, err := schema.Compile(e.Schema)
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

// A URLElicitation sends the user to a web page, for data that must not pass through the client, such
// as a login, a payment or a secret. ActionAccept only means that the page is opened. The URL must not
// contain a secret, and the page must authenticate the user.
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

// A formField is the schema of a property of a form.
type formField struct {
	Type    string          `json:"type"`
	Enum    json.RawMessage `json:"enum"`
	OneOf   []titled        `json:"oneOf"`
	Default json.RawMessage `json:"default"`
	Items   *struct {
		Enum  json.RawMessage `json:"enum"`
		AnyOf []titled        `json:"anyOf"`
	} `json:"items"`
}

// A titled value is a choice with its label.
type titled struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

func eachField(form json.RawMessage, f func(name string, raw json.RawMessage, field formField) error) error {
	var root struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
	}
	if err := strictjson.Unmarshal(form, &root); err != nil {
		return err
	}
	if root.Type != "object" || strictjson.First(root.Properties) != '{' {
		return errors.New(`must have "type":"object" and properties`)
	}
	return strictjson.Object(root.Properties, func(key, raw []byte) error {
		var field formField
		if err := strictjson.Unmarshal(raw, &field); err != nil {
			return fmt.Errorf("properties.%s: %w", key, err)
		}
		if err := f(string(key), raw, field); err != nil {
			return fmt.Errorf("properties.%s: %w", key, err)
		}
		return nil
	})
}

// adaptForm checks a form and converts it for clients of a revision.
func adaptForm(form json.RawMessage, r Revision) (json.RawMessage, error) {
	var fields []byte
	err := eachField(form, func(name string, raw json.RawMessage, field formField) error {
		if !slices.Contains([]string{"string", "number", "integer", "boolean", "array"}, field.Type) {
			return fmt.Errorf("type %q is not supported in a form; use string, number, integer, boolean, or array for a multiple choice", field.Type)
		}
		if err := field.check(raw); err != nil {
			return err
		}
		if r < Revision20251125 {
			var err error
			if raw, err = downgradeField(raw, field); err != nil {
				return fmt.Errorf("%w in revision %s", err, r)
			}
		}
		fields = strictjson.AppendMember(fields, name, raw)
		return nil
	})
	if err != nil || r >= Revision20251125 {
		return form, err
	}
	return replaceMembers(form, func(key string, value []byte) (string, []byte) {
		if key == "properties" {
			value = append(append([]byte{'{'}, fields...), '}')
		}
		return key, value
	})
}

func (f *formField) check(raw json.RawMessage) error {
	switch {
	case f.Type == "array" && (f.Items == nil || f.Items.Enum == nil && len(f.Items.AnyOf) == 0):
		return errors.New("an array must be a multiple choice: its items need enum, or anyOf with const and title")
	case f.OneOf != nil && (len(f.OneOf) == 0 || f.Enum != nil):
		return errors.New("a choice needs either enum, or oneOf with const and title")
	case f.Default == nil:
		return nil
	}
	own, err := schema.Compile(raw)
	if err != nil {
		return err
	}
	if err := own.Validate(f.Default); err != nil {
		return fmt.Errorf("default: %w", err)
	}
	return nil
}

// downgradeField converts a property to 2025-06-18, where only booleans have a default and a choice
// is an enum with enumNames.
func downgradeField(raw json.RawMessage, field formField) (json.RawMessage, error) {
	if field.Type == "array" {
		return nil, errors.New("multiple choice is not supported")
	}
	var values, names []string
	for _, choice := range field.OneOf {
		values = append(values, choice.Const)
		names = append(names, cmp.Or(choice.Title, choice.Const))
	}
	older, err := replaceMembers(raw, func(key string, value []byte) (string, []byte) {
		switch {
		case key == "default" && field.Type != "boolean":
			return "", nil
		case key == "oneOf":
			value, _ = strictjson.Marshal(values) // strings cannot fail
			return "enum", value
		}
		return key, value
	})
	if err != nil || field.OneOf == nil {
		return older, err
	}
	encoded, err := strictjson.Marshal(names)
	return append(strictjson.AppendMember(older[:len(older)-1], "enumNames", encoded), '}'), err
}

// replaceMembers returns an object with each member replaced. If replace returns an empty key, the
// member is dropped.
func replaceMembers(object json.RawMessage, replace func(key string, value []byte) (string, []byte)) (json.RawMessage, error) {
	var members []byte
	err := strictjson.Object(object, func(key, value []byte) error {
		if key, value := replace(string(key), value); key != "" {
			members = strictjson.AppendMember(members, key, value)
		}
		return nil
	})
	return append(append([]byte{'{'}, members...), '}'), err
}

// FillDefaults adds the defaults of a form, the Schema of an [Elicitation], to content for members
// that it does not have.
func FillDefaults(form, content json.RawMessage) (json.RawMessage, error) {
	filled := map[string]json.RawMessage{}
	if strictjson.First(content) != 'n' && content != nil {
		if err := strictjson.Unmarshal(content, &filled); err != nil {
			return nil, fmt.Errorf("content: %w", err)
		}
	}
	err := eachField(form, func(name string, _ json.RawMessage, field formField) error {
		if _, ok := filled[name]; !ok && field.Default != nil {
			filled[name] = field.Default
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return strictjson.Marshal(filled)
}
