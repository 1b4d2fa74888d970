package posting

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

// A body is that of a response. At its end the connection is free for the next request; if it is closed before, the connection is, too.
type body struct {
	from     io.Reader
	ctx      context.Context
	t        *Transport
	c        *conn
	reusable bool

	over atomic.Bool // the connection is no longer its own
	eof  atomic.Bool // because the body has come to its end
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.eof.Load():
		return 0, io.EOF
	case b.over.Load():
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.from.Read(p)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.eof.Store(true)
		b.end(true)
	default:
		b.end(false)
		if b.ctx.Err() != nil {
			err = context.Cause(b.ctx)
		}
	}
	return n, err
}

// Close implements [io.Closer].
func (b *body) Close() error {
	b.end(false)
	return nil
}

// end gives the connection back, or closes it if it cannot be used again.
func (b *body) end(whole bool) {
	if !b.over.CompareAndSwap(false, true) {
		return
	}
	if b.c.stop() && whole && b.reusable && b.c.in.Buffered() == 0 {
		b.t.release(b.c)
		return
	}
	b.c.Close()
}
