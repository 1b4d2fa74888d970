package engine

import (
	"errors"

	"github.com/petrock/petrock/core/terminal"
)

// A Fault is what is said, in JSON, of something that could not be done: the same on a command line and
// over MCP.
type Fault struct {
	OK      bool     `json:"ok"`                // Never
	Message string   `json:"error"`             // All of it, for people
	Status  int      `json:"status"`            // That a program ends with
	Refusal *Refusal `json:"refusal,omitempty"` // What is in the way, in parts
}

// Error is the message.
func (f *Fault) Error() string { return f.Message }

// FaultOf says an error as a fault.
func FaultOf(err error) *Fault {
	if known, ok := errors.AsType[*Fault](err); ok {
		return known
	}
	f := &Fault{Message: err.Error(), Status: terminal.Status(err)}
	errors.As(err, &f.Refusal)
	return f
}
