package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// An observed holds the observations of the friendly client during an attack.
type observed struct {
	took   []time.Duration // of each call
	failed []error
	memory int64 // maximum of the server, in bytes
	files  int   // maximum of the server
}

const patience = 5 * time.Second

// callFor calls the server every few milliseconds for d. Every tenth call has a new connection.
// Every twentieth request is a health check.
func (s *server) callFor(ctx context.Context, d time.Duration) *observed {
	var all observed
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	once := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	for i, end := 0, time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; i++ {
		began := time.Now()
		var err error
		switch {
		case i%20 == 5:
			err = s.health(once)
		case i%10 == 0:
			err = s.call(once)
		default:
			err = s.call(client)
		}
		all.took = append(all.took, time.Since(began))
		if err != nil {
			all.failed = append(all.failed, err)
		}
		all.memory, all.files = max(all.memory, s.memory()), max(all.files, s.files())
		time.Sleep(5 * time.Millisecond)
	}
	slices.Sort(all.took)
	return &all
}

func (s *server) call(client *http.Client) error {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequest("POST", "http://"+s.addr+"/mcp", strings.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "X-Api-Token": friendKey,
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "add",
	} {
		r.Header.Set(name, value)
	}
	return expect(client, r, `"sum":5`)
}

func (s *server) health(client *http.Client) error {
	r, err := http.NewRequest("GET", "http://"+s.addr+"/healthz", nil)
	if err != nil {
		return err
	}
	return expect(client, r, "ok")
}

func expect(client *http.Client, r *http.Request, want string) error {
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != 200 || !strings.Contains(string(text), want)) {
		err = fmt.Errorf("%s: %.300s", response.Status, text)
	}
	return err
}

func (s *observed) at(percent int) time.Duration {
	if len(s.took) == 0 {
		return 0
	}
	return s.took[min(len(s.took)-1, len(s.took)*percent/100)]
}

func (s *observed) String() string {
	short := func(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }
	return fmt.Sprintf("%8d %8s %8s %8s %5d MB %6d", len(s.took), short(s.at(50)), short(s.at(99)), short(s.at(100)), s.memory>>20, s.files)
}

// fault returns an error if a call failed, or if the server uses too much memory.
func (s *observed) fault() error {
	var errs []error
	if len(s.took) == 0 {
		errs = append(errs, errors.New("no call completed"))
	}
	if n := len(s.failed); n > 0 {
		errs = append(errs, fmt.Errorf("%d of %d calls failed, the first with: %w", n, len(s.took), s.failed[0]))
	}
	if s.memory > maxMemory {
		errs = append(errs, fmt.Errorf("the server uses %d MB", s.memory>>20))
	}
	return errors.Join(errs...)
}
