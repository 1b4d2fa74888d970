package derive

import (
	"encoding/json"
	"strings"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Component is one thing that a package offers.
type Component struct {
	Kind        Kind            `json:"kind"`                   // What it is
	Name        string          `json:"name"`                   // What clients call it
	Title       string          `json:"title,omitempty"`        // What people are shown
	Description string          `json:"description,omitempty"`  // What it is for
	Func        string          `json:"func"`                   // The Go function, or Type.Method, or the type of a part of a feature
	File        string          `json:"file"`                   // Where it is written, from the project's root
	Line        int             `json:"line"`                   // In that file
	URI         string          `json:"uri,omitempty"`          // Of a resource, maybe with variables
	MIMEType    string          `json:"mimeType,omitempty"`     // Of a resource
	Input       json.RawMessage `json:"inputSchema,omitempty"`  // Schema of what it takes
	Output      json.RawMessage `json:"outputSchema,omitempty"` // Schema of what it gives back
	Feature     string          `json:"feature,omitempty"`      // The feature that it belongs to
	Entry       string          `json:"entry,omitempty"`        // Of a command: what the log calls it
	Internal    bool            `json:"internal,omitempty"`     // It is a command or query that is no tool, which only Go code executes

	arguments []string // the fields of the input of a prompt or resource
	ownSchema bool     // a directive gives a part of its schemas
	hints     []hint
	scopes    []string // what a caller must be allowed
	version   int      // of a command
	duties    []duty   // of a worker
	fromStart bool     // a worker begins with the first entry of the log
	completer string   // the function, or Type.Method, that completes its arguments

	stored contract.Shape // of a command: what its events hold
	olders []older        // of a command: the types of its older versions
}

// Tool is what clients are told of a tool.
func (c Component) Tool() mcp.Tool {
	t := mcp.Tool{Name: c.Name, Title: c.Title, Description: c.Description, InputSchema: c.Input, OutputSchema: c.Output, Scopes: c.scopes}
	if len(c.hints) == 0 {
		return t
	}
	t.Annotations = &mcp.ToolAnnotations{}
	for _, h := range c.hints {
		value := h.value
		switch h.field {
		case "ReadOnlyHint":
			t.Annotations.ReadOnlyHint = &value
		case "DestructiveHint":
			t.Annotations.DestructiveHint = &value
		case "IdempotentHint":
			t.Annotations.IdempotentHint = &value
		case "OpenWorldHint":
			t.Annotations.OpenWorldHint = &value
		}
	}
	return t
}

// IsTool reports whether clients see the component as a tool.
func (c Component) IsTool() bool { return c.Kind.IsTool() && !c.Internal }

// IsCalled reports whether a name means the component: the one that clients have for it, or Go, or the log.
func (c Component) IsCalled(name string) bool {
	if c.Kind == Feature {
		return c.Name == name
	}
	return c.Name == name || c.Func == name || c.Name == strings.ReplaceAll(name, "-", "_") || strings.HasSuffix(c.Func, "."+name) ||
		c.Feature != "" && name == c.Feature+"/"+c.local()
}

// method is the name of the method, if it is one.
func (c Component) method() (string, bool) {
	for i := range c.Func {
		if c.Func[i] == '.' {
			return c.Func[i+1:], true
		}
	}
	return c.Func, false
}

// A Package is what was derived from one.
type Package struct {
	Place
	Components []Component // sorted by name
	File       string      // the path of the derived file
	Text       []byte      // what it holds; nil if there are no components, and none is needed

	// Problems are why nothing could be derived: the derived file stays as it is.
	Problems []typecheck.Diagnostic
	// Warnings are what had better be otherwise.
	Warnings []typecheck.Diagnostic

	maker      maker
	completers []completer
	begins     map[string]begin // how workers are made, by their types
	maps       bool             // there is a func Map
	olders     []older          // types that may be older versions of commands
}

// A maker is how the type whose methods are components is made.
type maker struct {
	known   bool // there is a func New
	context bool // that takes a context
	server  bool // that takes the server, after it
}
