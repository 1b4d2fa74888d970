package gen

import "fmt"

// Directives are settings of a component that are directives in its doc comment: a title for users,
// hints for clients, the scopes that callers need, and whether it is not a tool. A nil value is not
// set. An empty one, or false, removes the directive.
type Directives struct {
	Title    *string `json:"title,omitempty"`
	Hints    *string `json:"hints,omitempty"`
	Scopes   *string `json:"scopes,omitempty"`
	Internal *bool   `json:"internal,omitempty"`
}

// Each calls set for each directive that is not nil. It fails for a value that is not one line of
// text.
func (d Directives) Each(set func(name, value string, isSet bool)) error {
	for i, given := range []*string{d.Title, d.Hints, d.Scopes} {
		if name := []string{"title", "hints", "scopes"}[i]; given != nil {
			value, err := ParseDescription(*given)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			set(name, value, value != "")
		}
	}
	if d.Internal != nil {
		set("internal", "", *d.Internal)
	}
	return nil
}
