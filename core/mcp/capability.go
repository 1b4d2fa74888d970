package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// Capabilities are what a client or a server says that it can do. A capability
// is there if its key is, whatever its value.
type Capabilities map[string]json.RawMessage

// Has reports whether the capability is declared.
func (c Capabilities) Has(name string) bool {
	_, ok := c[name]
	return ok
}

// A need is a capability that a question presupposes.
type need struct {
	capability string
	part       string   // what must be declared within it; "" means nothing
	since      Revision // that knows of it
	implied    bool     // an empty declaration means this part
}

// met reports whether a client of a revision has declared what is needed.
func (n need) met(r Revision, c Capabilities) bool {
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

// A CannotAskError says that the client has not declared what a question needs.
type CannotAskError struct {
	Required  Capabilities // what it would have to declare
	stateless bool
}

func (e *CannotAskError) Error() string {
	var names []string
	for _, name := range []string{"elicitation", "roots", "sampling"} {
		if required, ok := e.Required[name]; ok {
			names = append(names, name+" "+string(required))
		}
	}
	return "this needs a client that declares the capability " + strings.Join(names, " and ")
}

// Unwrap returns the error that fails the request, in revisions that have one for this.
// In the others a tool says in its result what it lacks.
func (e *CannotAskError) Unwrap() error {
	if !e.stateless {
		return nil
	}
	data, err := strictjson.Marshal(map[string]any{"requiredCapabilities": e.Required})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: MissingCapability, Message: e.Error(), Data: data}
}

// mayAsk reports whether the client can be asked these questions, in this call.
func (c *Call) mayAsk(questions []Question) error {
	if err := c.waited(); err != nil {
		return fmt.Errorf("asking the client: nobody waits for it: %w", err)
	}
	if c.Revision.stateless() && !c.via.server.methods[c.Method].asks {
		return jsonrpc.Errorf(jsonrpc.InternalError, "%s cannot be answered with questions in revision %s", c.Method, c.Revision)
	}
	missing := make(map[string]map[string]struct{})
	for _, q := range questions {
		n := q.needs()
		if n.met(c.Revision, c.ClientCapabilities()) {
			continue
		}
		if missing[n.capability] == nil {
			missing[n.capability] = make(map[string]struct{})
		}
		if n.part != "" {
			missing[n.capability][n.part] = struct{}{}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	required := make(Capabilities)
	for name, parts := range missing {
		raw, err := strictjson.Marshal(parts)
		if err != nil {
			return err
		}
		required[name] = raw
	}
	return &CannotAskError{required, c.Revision.stateless()}
}
