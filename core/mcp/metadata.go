package mcp

import (
	"fmt"

	"github.com/petrock/petrock/core/strictjson"
)

// Meta is what a peer attaches to an object beyond the protocol's own fields.
type Meta map[string]any

// An Implementation tells who a server or a client is.
type Implementation struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	WebsiteURL  string `json:"websiteUrl,omitempty"`
	Icons       []Icon `json:"icons,omitempty"`
}

// AppendJSON appends it as JSON.
func (i Implementation) AppendJSON(dst []byte) ([]byte, error) {
	var o object
	o.text("name", i.Name)
	o.optional("title", i.Title)
	o.text("version", i.Version)
	o.optional("description", i.Description)
	o.optional("websiteUrl", i.WebsiteURL)
	var err error
	if len(i.Icons) > 0 {
		err = o.any("icons", i.Icons)
	}
	return o.appendTo(dst), err
}

// readInfo reads who a client is, as far as it can be read: it is for people to look at, and
// no reason to refuse anything.
func readInfo(raw []byte) (i Implementation, err error) {
	if strictjson.First(raw) == '{' {
		_ = strictjson.Unmarshal(raw, &i)
	}
	return i, checkInfo(raw)
}

// checkInfo says what is wrong with who a client says it is, before all of it is read.
func checkInfo(raw []byte) error {
	if first := strictjson.First(raw); first != '{' && first != 'n' {
		return fmt.Errorf("must be an object, got %s", strictjson.Describe(raw))
	}
	return nil
}

// ForRevision returns i without the fields that peers of revision r do not know.
func (i Implementation) ForRevision(r Revision) Implementation {
	if r < Revision20250618 {
		i.Title = ""
	}
	if r < Revision20251125 {
		i.Description, i.WebsiteURL, i.Icons = "", "", nil
	}
	return i
}

// An Icon is a picture for something that clients show to people.
type Icon struct {
	Src      string   `json:"src"` // an https: or data: address
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"` // such as "48x48", or "any"
	Theme    string   `json:"theme,omitempty"` // "light" or "dark"
}

// A Role is a side of a conversation with a model.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Annotations say for whom a piece of content is and how much it matters.
type Annotations struct {
	Audience     []Role   `json:"audience,omitempty"`
	Priority     *float64 `json:"priority,omitempty"`     // from 0, optional, to 1, needed
	LastModified string   `json:"lastModified,omitempty"` // RFC 3339
}

func (a *Annotations) forRevision(r Revision) *Annotations {
	if a == nil || r >= Revision20250618 || a.LastModified == "" {
		return a
	}
	if a.Audience == nil && a.Priority == nil {
		return nil
	}
	return &Annotations{Audience: a.Audience, Priority: a.Priority}
}
