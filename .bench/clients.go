package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/client"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"

	"github.com/petrock/petrock/bench/internal/eras"
	"github.com/petrock/petrock/bench/internal/front"
	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/mcp"
)

// A library connects a client to a server over HTTP, as its users do.
type library struct {
	name string
	dial func(ctx context.Context, url string) (libraryClient, error)
}

// A libraryClient is a connected client.
type libraryClient interface {
	// add calls the tool add and returns the text of its result.
	add(ctx context.Context, a, b float64) (string, error)
	close() error
}

// measureClients calls petrock's server from 64 goroutines, through one client of each library.
func measureClients(ctx context.Context, b *bench, round int, r results) error {
	ours := b.named(0, "ours")[0]
	p, err := serve(ctx, ours, eras.Handshake(), "clients call add", 4*b.options.time+2*patience)
	if err != nil {
		return err
	}
	defer p.kill()
	for _, lib := range rotated([]library{{"ours", dialOurs}, {"mcpgo", dialMCPGo}}, round) {
		c, err := lib.dial(ctx, "http://"+p.addr+front.Path)
		if err != nil {
			return fmt.Errorf("%s: %w", lib.name, err)
		}
		if _, err = callConcurrently(ctx, c, b.options.time/4); err == nil { // warm-up
			var l load
			l, err = callConcurrently(ctx, c, b.options.time)
			r.add("client", lib.name, l.perSecond())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", lib.name, err)
		}
		if err := c.close(); err != nil {
			return fmt.Errorf("%s: closing: %w", lib.name, err)
		}
	}
	_, err = p.stop()
	return err
}

// callConcurrently calls add from 64 goroutines and checks every result.
func callConcurrently(ctx context.Context, c libraryClient, d time.Duration) (load, error) {
	var calls atomic.Int64
	var failure atomic.Pointer[error]
	var all sync.WaitGroup
	begun := time.Now()
	for n := range inFlight {
		all.Go(func() {
			for i := 0; time.Since(begun) < d && failure.Load() == nil; i++ {
				got, err := c.add(ctx, float64(n), float64(i))
				if want := fmt.Sprintf(`{"sum":%d}`, n+i); err == nil && got != want && n+i < 1e6 {
					err = fmt.Errorf("%d + %d: got %s, want %s", n, i, got, want)
				}
				if err != nil {
					failure.Store(&err)
				}
				calls.Add(1)
			}
		})
	}
	all.Wait()
	if err := failure.Load(); err != nil {
		return load{}, *err
	}
	return load{int(calls.Load()), time.Since(begun)}, nil
}

func arguments(a, b float64) map[string]any { return map[string]any{"a": a, "b": b} }

type ours struct{ client *client.Client }

func dialOurs(ctx context.Context, url string) (libraryClient, error) {
	c, err := clienthttp.Dial(ctx, clienthttp.Server{URL: url}, client.Options{Revision: mcp.LatestHandshake})
	return ours{c}, err
}

func (c ours) add(ctx context.Context, a, b float64) (string, error) {
	result, err := c.client.CallTool(ctx, "add", arguments(a, b))
	if err != nil {
		return "", err
	}
	return result.Text(), nil
}

func (c ours) close() error { return c.client.Close() }

type mark3labs struct{ client *mcpgo.Client }

func dialMCPGo(ctx context.Context, url string) (libraryClient, error) {
	c, err := mcpgo.NewStreamableHttpClient(url)
	if err == nil {
		err = c.Start(ctx)
	}
	if err != nil {
		return nil, err
	}
	hello := mcpgotypes.InitializeRequest{}
	hello.Params.ProtocolVersion = mcpgotypes.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcpgotypes.Implementation{Name: "bench", Version: "1"}
	_, err = c.Initialize(ctx, hello)
	return mark3labs{c}, err
}

func (c mark3labs) add(ctx context.Context, a, b float64) (string, error) {
	request := mcpgotypes.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = "add", arguments(a, b)
	result, err := c.client.CallTool(ctx, request)
	if err != nil {
		return "", err
	}
	if text, ok := result.Content[0].(mcpgotypes.TextContent); ok {
		return text.Text, nil
	}
	return "", fmt.Errorf("unexpected content %T", result.Content[0])
}

func (c mark3labs) close() error { return c.client.Close() }
