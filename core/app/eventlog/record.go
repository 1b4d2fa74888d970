package eventlog

import (
	"encoding/json"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// A Record is an event in the log: a command that was executed. Order records by Seq: times
// decrease when the clock is set back.
type Record struct {
	Seq   int64     `json:"seq"`             // 1, 2, 3, … without gaps
	ID    string    `json:"id"`              // unique in the log
	Time  time.Time `json:"time"`            // of the execution, in UTC, to the microsecond
	Actor string    `json:"actor,omitempty"` // the caller; empty if unknown

	Type    string          `json:"type"`    // such as posts/create; without line breaks
	Version int             `json:"version"` // of the command
	Data    json.RawMessage `json:"data"`    // the fields of the command

	Key    string          `json:"key,omitempty"`    // idempotency key, unique in the log
	Result json.RawMessage `json:"result,omitempty"` // the output of the command, if Key is set

	Cause json.RawMessage `json:"cause,omitempty"` // a [Cause]; nil if it is unknown
}

// Payload returns the command of the event.
func (r Record) Payload() Payload { return Payload{r.Type, r.Version, r.Data} }

// Decode stores the fields of the command in the value that v points to, as strictly as commands
// are decoded.
func (r Record) Decode(v any) error { return (&strictjson.Decoder{Exact: true}).Decode(r.Data, v) }

// A Payload is the command in a [Record]. A map function of a feature replaces payloads that no
// command can read.
type Payload struct {
	Type    string          `json:"type"`
	Version int             `json:"version"`
	Data    json.RawMessage `json:"data"`
}

// A Cause is why a command was executed: for an event that a worker handled or at an interval of
// the worker, or in a request. It never has arguments of the request.
type Cause struct {
	Event  int64  `json:"event,omitempty"`  // the event that the worker handled; 0 for an interval
	Worker string `json:"worker,omitempty"` // such as posts/digest

	Request     string `json:"request,omitempty"` // id of the request, as in the server's log
	Tool        string `json:"tool,omitempty"`
	Session     string `json:"session,omitempty"`     // as in the server's log
	Traceparent string `json:"traceparent,omitempty"` // of the W3C recommendation Trace Context
}
