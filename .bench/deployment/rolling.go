package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// roll restarts the servers one after another, as a supervisor does in a deployment: it sends
// SIGTERM, and waits until the new process is ready.
func (d *deployment) roll(ctx context.Context, errOut io.Writer) error {
	begin := time.Now()
	for n := range d.o.rolling {
		if err := d.replace(ctx, n%len(d.servers), begin, errOut); err != nil {
			return err
		}
	}
	return nil
}

// replace ends a server with SIGTERM, starts it again, and waits until it is ready.
func (d *deployment) replace(ctx context.Context, i int, begin time.Time, errOut io.Writer) error {
	s := d.servers[i]
	signalled := time.Now()
	if err := s.end(syscall.SIGTERM); err != nil {
		return err
	}
	ended := time.Now()
	if err := s.start(); err != nil {
		return err
	}
	for !s.isReady() {
		if !sleep(ctx, 20*time.Millisecond) || time.Since(ended) > time.Minute {
			return fmt.Errorf("server %d is not ready a minute after its restart: %s", i+1, s.logged.tail())
		}
	}
	fmt.Fprintf(errOut, "%6.1f s  restarted server %d: it ended after %.1f s, and was ready %.1f s later\n", time.Since(begin).Seconds(), i+1, ended.Sub(signalled).Seconds(), time.Since(ended).Seconds())
	d.restarted++
	sleep(ctx, 2*time.Second) // until HAProxy has noticed
	return nil
}

// A watcher reports failed HTTP requests. newHTTP takes it from the context, under watcherKey.
type watcher struct {
	failed func(text string)
}

type watcherKey struct{}

// watch reports a request that failed, unless its client has cancelled it. The only status that a
// client must expect is 404 for its session.
func (w *watcher) watch(r *http.Request, response *http.Response, err error) {
	kind := "a request without a session"
	session := r.Header.Get("Mcp-Session-Id") != ""
	if session {
		kind = "a request of a session"
	}
	switch {
	case r.Context().Err() != nil:
	case err != nil:
		w.failed(fmt.Sprintf("%s, %s: %v", kind, r.Method, err))
	case response.StatusCode == http.StatusNotFound && session:
	case response.StatusCode >= 400 && response.StatusCode != http.StatusMethodNotAllowed: // some SDKs try GET without a session
		text, _ := io.ReadAll(response.Body)
		response.Body = io.NopCloser(strings.NewReader(string(text)))
		w.failed(fmt.Sprintf("%s, %s: %s %s", kind, r.Method, response.Status, text))
	default:
		response.Body = &watchedBody{response.Body, w, r, kind}
	}
}

// A watchedBody reports a response that ends without its last chunk.
type watchedBody struct {
	io.ReadCloser
	w    *watcher
	r    *http.Request
	kind string
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, http.ErrBodyReadAfterClose) && b.r.Context().Err() == nil {
		b.w.failed(fmt.Sprintf("%s, %s: read the response: %v", b.kind, b.r.Method, err))
	}
	return n, err
}
