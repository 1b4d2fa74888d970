package jsonrpc

import (
	"bytes"
	"errors"
	"sync"

	"github.com/petrock/petrock/core/strictjson"
)

// maxBatch is how many messages a batch may hold. Each takes far more memory than
// its bytes, and a bad one is answered with more than it said.
const maxBatch = 1000

// A batch gathers the answers to the messages of one array.
type batch struct {
	mu      sync.Mutex
	answers [][]byte // in the order of the messages
	after   []func() // to be called when the answers have gone
	missing int
}

// unpack takes an array apart into its messages, or into the one refusal of all.
func (c *Conn) unpack(raw []byte) []incoming {
	refuse := func(e *Error) []incoming { return []incoming{{fault: &fault{err: e}}} }
	var parts [][]byte
	n := 0
	err := strictjson.Array(raw, func(part []byte) error {
		if n++; n <= maxBatch {
			parts = append(parts, part)
		}
		return nil
	})
	switch {
	case err != nil && !isDuplicate(err):
		return refuse(broken(err))
	case !c.dialect.Load().Batches:
		return refuse(Errorf(InvalidRequest, "batches are not part of this protocol revision: send one message at a time"))
	case n > maxBatch:
		return refuse(Errorf(InvalidRequest, "a batch may hold at most %d messages, got %d", maxBatch, n))
	case n == 0:
		return refuse(Errorf(InvalidRequest, "a batch must hold at least one message"))
	}
	b := &batch{}
	list := make([]incoming, len(parts))
	for i, part := range parts {
		m, f := parse(part)
		list[i] = incoming{message: m, fault: f, batch: b, slot: b.missing}
		if f != nil && !f.response && !f.notification || f == nil && m.method != "" && !m.id.IsZero() {
			b.missing++
		}
	}
	b.answers = make([][]byte, b.missing)
	if b.missing > 0 {
		c.running.Add(1) // until it is answered
	}
	return list
}

// isDuplicate reports whether err is a key that stands twice: the fault of one
// message of a batch, and not of the others.
func isDuplicate(err error) bool {
	var e *strictjson.Error
	return errors.As(err, &e) && e.Kind == strictjson.Duplicate
}

// add puts an answer into its place; nil means that none is sent. Once all are in, it returns
// true, the array of them, or nil if it would be empty, and what is to be called after it.
func (b *batch) add(slot int, answer []byte, after []func()) (all []byte, follow []func(), complete bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[slot] = bytes.Clone(answer)
	b.after = append(b.after, after...)
	if b.missing--; b.missing > 0 {
		return nil, nil, false
	}
	for _, a := range b.answers {
		if a == nil {
			continue
		}
		if all == nil {
			all = []byte{'['}
		} else {
			all = append(all, ',')
		}
		all = append(all, a...)
	}
	if all == nil {
		return nil, nil, true
	}
	return append(all, ']'), b.after, true
}
