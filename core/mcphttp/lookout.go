package mcp

import (
	"sync"
	"time"
)

// A lookout notices calls that are not answered soon. It looks at all of them from time to time, as long as there are any, so that a call
// costs no timer.
type lookout struct {
	every time.Duration

	mu      sync.Mutex
	first   *exchange
	looks   int // how many there have been
	looking bool
}

// looksUntilLong is how many looks a call that takes long has seen. It has waited for as many times every, or one more.
const looksUntilLong = 4

// newLookout returns one that tells of a call after about a time.
func newLookout(after time.Duration) *lookout {
	return &lookout{every: max(after/looksUntilLong, time.Millisecond)}
}

// enter has a call looked at.
func (l *lookout) enter(e *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.looked, e.looks = true, l.looks
	if e.next = l.first; e.next != nil {
		e.next.before = e
	}
	l.first = e
	if !l.looking {
		l.looking = true
		time.AfterFunc(l.every, l.look)
	}
}

// leave ends that, if it has not ended.
func (l *lookout) leave(e *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !e.looked {
		return
	}
	e.looked = false
	if e.next != nil {
		e.next.before = e.before
	}
	if e.before != nil {
		e.before.next = e.next
	} else {
		l.first = e.next
	}
	e.next, e.before = nil, nil
}

// look tells the calls that take long.
func (l *lookout) look() {
	for _, e := range l.long() {
		l.leave(e)
		e.takesLong()
	}
}

// long returns the calls that take long. It comes again as long as there are any.
func (l *lookout) long() (found []*exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks++
	for e := l.first; e != nil; e = e.next {
		if l.looks-e.looks > looksUntilLong {
			found = append(found, e)
		}
	}
	if l.looking = l.first != nil; l.looking {
		time.AfterFunc(l.every, l.look)
	}
	return found
}
