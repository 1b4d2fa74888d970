package gen

import (
	"fmt"
	"strings"
)

// Directives are settings of a component that are directives in its doc comment. A nil value is not
// set. An empty one, or false, removes the directive.
type Directives struct {
	Title    *string `json:"title,omitempty"`    // For users
	Hints    *string `json:"hints,omitempty"`    // Such as read-only closed-world
	Scopes   *string `json:"scopes,omitempty"`   // That callers need
	Internal *bool   `json:"internal,omitempty"` // Not a tool
}

// A Directive is a directive of petrock: //petrock:title Send a mail. Without a value, it is only a
// name.
type Directive struct {
	Name, Value string
	IsSet       bool // false to remove it
}

// String returns the directive without its prefix: title Send a mail.
func (d Directive) String() string { return strings.TrimSpace(d.Name + " " + d.Value) }

// List returns the directives that are not nil. It fails for a value that is not one line of text.
func (d Directives) List() (all []Directive, err error) {
	for _, text := range []struct {
		name  string
		value *string
	}{{"title", d.Title}, {"hints", d.Hints}, {"scopes", d.Scopes}} {
		if text.value == nil {
			continue
		}
		value, err := ParseDescription(*text.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text.name, err)
		}
		all = append(all, Directive{text.name, value, value != ""})
	}
	if d.Internal != nil {
		all = append(all, Directive{"internal", "", *d.Internal})
	}
	return all, nil
}
