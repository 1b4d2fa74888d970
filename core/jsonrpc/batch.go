package jsonrpc

import (
	"sync"

	"github.com/petrock/petrock/core/strictjson"
)

// A batch gathers the answers to the messages of one array.
type batch struct {
	mu      sync.Mutex
	answers [][]byte // in the order of the messages
	missing int
}

// unpack takes an array apart into its messages, or into the one refusal of all.
func (c *Conn) unpack(raw []byte) []incoming {
	refuse := func(e *Error) []incoming { return []incoming{{fault: &fault{err: e}}} }
	var parts [][]byte
	err := strictjson.Array(raw, func(part []byte) error {
		parts = append(parts, part)
		return nil
	})
	switch {
	case err != nil:
		return refuse(broken(err))
	case !c.dialect.Load().Batches:
		return refuse(Errorf(InvalidRequest, "batches are not part of this protocol revision: send one message at a time"))
	case len(parts) == 0:
		return refuse(Errorf(InvalidRequest, "a batch must hold at least one message"))
	}
	b := &batch{}
	list := make([]incoming, len(parts))
	for i, part := range parts {
		m, f := parse(part)
		list[i] = incoming{message: m, fault: f, batch: b, slot: b.missing}
		if f != nil && !f.response || f == nil && m.method != "" && !m.id.IsZero() {
			b.missing++
		}
	}
	b.answers = make([][]byte, b.missing)
	return list
}

// add puts an answer into its place; nil means that none is sent. Once all
// are in, it returns the array of them, or nil if it would be empty.
func (b *batch) add(slot int, answer []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[slot] = answer
	if b.missing--; b.missing > 0 {
		return nil
	}
	var all []byte
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
		return nil
	}
	return append(all, ']')
}
