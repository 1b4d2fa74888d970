package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A nodeClient is a client of the TypeScript SDK, in a process of its own: see
// .peers/npm/bridge.mjs.
type nodeClient struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	stderr  bytes.Buffer
	updated func()
	done    chan struct{} // closed at the end of the output

	mu      sync.Mutex
	lastID  int
	waiting map[int]chan nodeLine
}

// A nodeLine is a line that the process prints.
type nodeLine struct {
	ID      int
	Ready   bool
	Updated bool
	Error   string
	Result  json.RawMessage
}

// nodeKinds returns the clients of the TypeScript SDK.
func nodeKinds(bridge string) []kind {
	dial := func(generation string) func(context.Context, string, func()) (connection, error) {
		return func(ctx context.Context, url string, updated func()) (connection, error) {
			return dialNode(ctx, bridge, url, generation, updated)
		}
	}
	return []kind{{"ts-sdk 1 " + withSessions, dial("1")}, {"ts-sdk 2 " + stateless, dial("2")}}
}

func dialNode(ctx context.Context, bridge, url, generation string, updated func()) (connection, error) {
	c := &nodeClient{cmd: exec.Command("node", bridge, url, generation, apiKey), updated: updated, done: make(chan struct{}), waiting: map[int]chan nodeLine{}}
	c.cmd.Stderr = &c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.in = in
	ready := make(chan nodeLine, 1)
	c.waiting[0] = ready
	go c.readAll(out)
	select {
	case <-ready:
		return c, nil
	case <-c.done:
		c.close()
		return nil, errors.New(lastLine(c.stderr.String()))
	case <-ctx.Done():
		c.close()
		return nil, ctx.Err()
	}
}

// lastLine returns the line of an uncaught error in the output of Node.
func lastLine(text string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, "Error: ") {
			return strings.TrimSpace(line)
		}
	}
	return strings.TrimSpace(text)
}

// readAll delivers the answers.
func (c *nodeClient) readAll(out io.Reader) {
	defer close(c.done)
	lines := bufio.NewReader(out)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var line nodeLine
		if json.Unmarshal(text, &line) != nil {
			continue
		}
		if line.Updated {
			c.updated()
			continue
		}
		c.mu.Lock()
		answer := c.waiting[line.ID]
		delete(c.waiting, line.ID)
		c.mu.Unlock()
		if answer != nil {
			answer <- line
		}
	}
}

// request sends a request and returns its result.
func (c *nodeClient) request(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	answer := make(chan nodeLine, 1)
	c.mu.Lock()
	c.lastID++
	id := c.lastID
	c.waiting[id] = answer
	c.mu.Unlock()
	line, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	select {
	case got := <-answer:
		if got.Error != "" {
			return nil, errors.New(got.Error)
		}
		return got.Result, nil
	case <-c.done:
		return nil, fmt.Errorf("the client has exited: %s", lastLine(c.stderr.String()))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *nodeClient) call(ctx context.Context, tool string, arguments map[string]any, key string) ([]byte, error) {
	params := map[string]any{"name": tool, "arguments": arguments}
	if meta := callMeta(key); meta != nil {
		params["_meta"] = meta
	}
	raw, err := c.request(ctx, "call", params)
	if err != nil {
		return nil, err
	}
	return structuredContent(raw)
}

func (c *nodeClient) read(ctx context.Context, uri string) (string, error) {
	raw, err := c.request(ctx, "read", map[string]any{"uri": uri})
	if err != nil {
		return "", err
	}
	var result struct{ Contents []struct{ Text string } }
	if err := json.Unmarshal(raw, &result); err != nil || len(result.Contents) != 1 {
		return "", fmt.Errorf("read: got %d contents: %w", len(result.Contents), err)
	}
	return result.Contents[0].Text, nil
}

func (c *nodeClient) subscribe(ctx context.Context, uri string) error {
	_, err := c.request(ctx, "subscribe", map[string]any{"uri": uri})
	return err
}

func (c *nodeClient) close() {
	c.in.Close()
	select {
	case <-c.done:
	case <-time.After(5 * time.Second):
		c.cmd.Process.Kill()
		<-c.done
	}
	c.cmd.Wait()
}
