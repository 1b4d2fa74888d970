package app

import (
	"encoding/json"
	"time"
)

// An Entry is what applying a command may know of its place in the log. It is the same whenever the
// command is applied: times and the ids of new things come from here, and from nowhere else.
type Entry struct {
	Seq  int64     `json:"seq"`  // 1, 2, 3, … without a gap
	ID   string    `json:"id"`   // no other entry has it
	Time time.Time `json:"time"` // when the command was executed, in UTC, to the microsecond
}

// A Record is an entry as the log holds it.
type Record struct {
	Entry
	Type    string          `json:"type"`    // such as posts/create
	Version int             `json:"version"` // of what its data looks like
	Data    json.RawMessage `json:"data"`    // the command

	Key    string          `json:"key,omitempty"`    // of idempotency; no other record has it
	Result json.RawMessage `json:"result,omitempty"` // what came of it, if it has a key
}

// A Recorded is an event that no command reads as it is: its command was renamed or removed, or its
// version has no type. See [Feature.Map].
type Recorded struct {
	Type    string
	Version int
	Data    json.RawMessage
}
