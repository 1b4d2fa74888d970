package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/client/testdata/watch"
	"github.com/petrock/petrock/core/mcp"
)

// Revisions of the two eras.
const (
	withSessions = "2025-11-25"
	stateless    = "2026-07-28"
)

// A connection is a connected client of some SDK.
type connection interface {
	// call calls a tool and returns the structured content of its result. A result with isError is
	// a *toolError.
	call(ctx context.Context, tool string, arguments map[string]any, key string) ([]byte, error)
	// read reads a resource.
	read(ctx context.Context, uri string) (string, error)
	// subscribe makes the connection call its function updated when the resource changes.
	subscribe(ctx context.Context, uri string) error
	close()
}

// A toolError is the result of a tool that failed.
type toolError struct{ text string }

func (e *toolError) Error() string { return "tool error: " + e.text }

// A kind is a client of an SDK in an era.
type kind struct {
	name string
	dial func(ctx context.Context, url string, updated func()) (connection, error)
}

// kinds returns all kinds. Those of the TypeScript SDK need its bridge; "" leaves them out.
func kinds(bridge string) []kind {
	var all []kind
	for _, version := range []string{withSessions, stateless} {
		all = append(all,
			kind{"petrock " + version, func(ctx context.Context, url string, updated func()) (connection, error) {
				return dialPetrock(ctx, url, version, updated)
			}},
			kind{"go-sdk " + version, func(ctx context.Context, url string, updated func()) (connection, error) {
				return dialGoSDK(ctx, url, version, updated)
			}},
			kind{"mcp-go " + version, func(ctx context.Context, url string, updated func()) (connection, error) {
				return dialMCPGo(ctx, url, version, updated)
			}})
	}
	if bridge != "" {
		all = append(all, nodeKinds(bridge)...)
	}
	return all
}

// apiKey is the key of the servers, which all clients send.
const apiKey = "a-key-for-the-deployment-test"

// A keyed sends the key with each request.
type keyed struct {
	*http.Transport
	watcher *watcher // may be nil
}

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+apiKey)
	response, err := k.Transport.RoundTrip(r)
	if k.watcher != nil {
		k.watcher.watch(r, response, err)
	}
	return response, err
}

// newHTTP returns an HTTP client with connections of its own.
func newHTTP(ctx context.Context) (*http.Client, keyed) {
	w, _ := ctx.Value(watcherKey{}).(*watcher)
	k := keyed{http.DefaultTransport.(*http.Transport).Clone(), w}
	return &http.Client{Transport: k}, k
}

// callMeta is the _meta of a call; key may be empty.
func callMeta(key string) map[string]any {
	if key == "" {
		return nil
	}
	return map[string]any{"idempotencyKey": key}
}

// A petrockClient is petrock's own client.
type petrockClient struct {
	*client.Client
	http    keyed
	watcher *watch.Watcher
	life    context.Context // of subscriptions
	stop    context.CancelFunc
}

func dialPetrock(ctx context.Context, url, version string, updated func()) (connection, error) {
	httpClient, k := newHTTP(ctx)
	w := watch.New()
	w.Updated = func(string) { updated() }
	c, err := clienthttp.Dial(ctx, clienthttp.Server{URL: url, HTTP: httpClient}, client.Options{
		Info: mcp.Implementation{Name: "petrock", Version: "1"}, Revision: mcp.Revision(version),
		Notification: w.Notification,
	})
	if err != nil {
		k.CloseIdleConnections()
		return nil, err
	}
	life, stop := context.WithCancel(context.Background())
	return &petrockClient{c, k, w, life, stop}, nil
}

func (c *petrockClient) call(ctx context.Context, tool string, arguments map[string]any, key string) ([]byte, error) {
	params := map[string]any{"name": tool, "arguments": arguments}
	if meta := callMeta(key); meta != nil {
		params["_meta"] = meta
	}
	var raw json.RawMessage
	if err := c.Request(ctx, "tools/call", params, &raw); err != nil {
		return nil, err
	}
	return structuredContent(raw)
}

// structuredContent returns the structured content of the result of a tool.
func structuredContent(raw []byte) ([]byte, error) {
	var result struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, err
	}
	if result.IsError {
		return nil, &toolError{fmt.Sprint(result.Content)}
	}
	return result.StructuredContent, nil
}

func (c *petrockClient) read(ctx context.Context, uri string) (string, error) {
	contents, err := c.ReadResource(ctx, uri)
	if err != nil || len(contents) != 1 {
		return "", fmt.Errorf("read %d contents: %w", len(contents), err)
	}
	return contents[0].Text, nil
}

func (c *petrockClient) subscribe(_ context.Context, uri string) error {
	_, err := c.watcher.Subscribe(c.life, c.Client, uri)
	return err
}

func (c *petrockClient) close() {
	c.stop()
	c.Close()
	c.http.CloseIdleConnections()
}

// A goSDKClient is a client of the official Go SDK.
type goSDKClient struct {
	*gosdk.ClientSession
	http keyed
}

func dialGoSDK(ctx context.Context, url, version string, updated func()) (connection, error) {
	httpClient, k := newHTTP(ctx)
	c := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, &gosdk.ClientOptions{
		ResourceUpdatedHandler: func(context.Context, *gosdk.ResourceUpdatedNotificationRequest) { updated() },
	})
	// The context of Connect must outlive it: the SDK uses it for the streams of the session.
	connected, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	s, err := c.Connect(connected, &gosdk.StreamableClientTransport{Endpoint: url, HTTPClient: httpClient}, &gosdk.ClientSessionOptions{ProtocolVersion: version})
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		k.CloseIdleConnections()
		return nil, err
	}
	return &goSDKClient{s, k}, nil
}

func (c *goSDKClient) call(ctx context.Context, tool string, arguments map[string]any, key string) ([]byte, error) {
	result, err := c.CallTool(ctx, &gosdk.CallToolParams{Name: tool, Arguments: arguments, Meta: callMeta(key)})
	if err != nil {
		return nil, err
	}
	if result.IsError {
		text, _ := json.Marshal(result.Content)
		return nil, &toolError{string(text)}
	}
	return json.Marshal(result.StructuredContent)
}

func (c *goSDKClient) read(ctx context.Context, uri string) (string, error) {
	result, err := c.ReadResource(ctx, &gosdk.ReadResourceParams{URI: uri})
	if err != nil || len(result.Contents) != 1 {
		return "", fmt.Errorf("read: %w", err)
	}
	return result.Contents[0].Text, nil
}

func (c *goSDKClient) subscribe(ctx context.Context, uri string) error {
	return c.Subscribe(ctx, &gosdk.SubscribeParams{URI: uri})
}

// close closes the session. Close of the SDK can block if the server is gone.
func (c *goSDKClient) close() {
	closed := make(chan struct{})
	go func() {
		c.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
	}
	c.http.CloseIdleConnections()
}

// A mcpGoClient is a client of mcp-go.
type mcpGoClient struct {
	*mcpgo.Client
	version string
	http    keyed
	stop    context.CancelFunc
	life    context.Context
}

func dialMCPGo(ctx context.Context, url, version string, updated func()) (connection, error) {
	httpClient, k := newHTTP(ctx)
	options := []transport.StreamableHTTPCOption{transport.WithHTTPBasicClient(httpClient), transport.WithHTTPLogger(slog.New(slog.DiscardHandler))}
	if version == withSessions {
		options = append(options, transport.WithContinuousListening())
	}
	t, err := transport.NewStreamableHTTP(url, options...)
	if err != nil {
		return nil, err
	}
	c := &mcpGoClient{Client: mcpgo.NewClient(t, mcpgo.WithProtocolVersion(version)), version: version, http: k}
	c.life, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.OnNotification(func(n mcpgotypes.JSONRPCNotification) {
		if n.Method == "notifications/resources/updated" {
			updated()
		}
	})
	err = c.Start(c.life)
	if err == nil {
		request := mcpgotypes.InitializeRequest{}
		request.Params.ProtocolVersion = version
		request.Params.ClientInfo = mcpgotypes.Implementation{Name: "mcp-go", Version: "1"}
		_, err = c.Initialize(ctx, request)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *mcpGoClient) call(ctx context.Context, tool string, arguments map[string]any, key string) ([]byte, error) {
	params := mcpgotypes.CallToolParams{Name: tool, Arguments: arguments}
	if meta := callMeta(key); meta != nil {
		params.Meta = &mcpgotypes.Meta{AdditionalFields: meta}
	}
	result, err := c.CallTool(ctx, mcpgotypes.CallToolRequest{Params: params})
	if err != nil {
		return nil, err
	}
	if result.IsError {
		text, _ := json.Marshal(result.Content)
		return nil, &toolError{string(text)}
	}
	return json.Marshal(result.StructuredContent)
}

func (c *mcpGoClient) read(ctx context.Context, uri string) (string, error) {
	request := mcpgotypes.ReadResourceRequest{}
	request.Params.URI = uri
	result, err := c.ReadResource(ctx, request)
	if err != nil {
		return "", err
	}
	if len(result.Contents) == 1 {
		if text, ok := result.Contents[0].(mcpgotypes.TextResourceContents); ok {
			return text.Text, nil
		}
	}
	return "", errors.New("read: not one text")
}

func (c *mcpGoClient) subscribe(ctx context.Context, uri string) error {
	if c.version == stateless {
		_, err := c.ListenAsync(c.life, mcpgotypes.SubscriptionFilter{ResourceSubscriptions: []string{uri}}, nil)
		return err
	}
	request := mcpgotypes.SubscribeRequest{}
	request.Params.URI = uri
	return c.Subscribe(ctx, request)
}

func (c *mcpGoClient) close() {
	c.Client.Close()
	c.stop()
	c.http.CloseIdleConnections()
}
