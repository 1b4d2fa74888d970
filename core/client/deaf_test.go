package client_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
)

// If the server does not read its input, calls still end with their timeout or context.
func TestProcessDoesNotRead(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"little": 1 << 10, "some": 20 << 10, "much": 600 << 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startUnruly(t, "deaf", client.Options{})
			arguments := map[string]string{"text": strings.Repeat("x", size)}
			began := time.Now()
			var all sync.WaitGroup
			for i := range 100 {
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
					if i%2 == 0 {
						ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
					}
					defer cancel()
					if _, err := c.CallTool(ctx, "any", arguments, client.WithTimeouts(100*time.Millisecond, 0)); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("the call ends with %v, want %v", err, context.DeadlineExceeded)
					}
				})
			}
			waited := make(chan struct{})
			go func() {
				all.Wait()
				close(waited)
			}()
			select {
			case <-waited:
			case <-time.After(30 * time.Second):
				t.Error("calls still wait")
			}
			c.Close()
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v, want at most %v", took, 30*time.Second)
			}
			<-waited
		})
	}
}
