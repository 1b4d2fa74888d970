package appmcp

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strconv"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// How many entries a page of the log has, and after how many bytes there are no more.
const (
	usualPage = 100
	mostOnOne = 1000
	mostBytes = 1 << 20
)

// A logPage is a part of the log.
type logPage struct {
	Entries []app.Record `json:"entries"`
	Last    int64        `json:"last"` // the last entry of the whole log
	Next    string       `json:"next"` // the address of what follows, now or later
}

// readLog reads pages of the log of a store, and so also entries that the app cannot apply.
func readLog(store app.Store) mcp.ResourceHandler {
	return func(ctx context.Context, uri string, variables map[string]string) ([]mcp.ResourceContents, error) {
		page, err := readPage(ctx, store, uri, variables)
		if err != nil {
			return nil, err
		}
		raw, err := strictjson.Marshal(page)
		if err != nil {
			return nil, fmt.Errorf("encoding the log: %w", err)
		}
		return []mcp.ResourceContents{{Text: string(raw)}}, nil
	}
}

// readPage is the page of the log that an address asks for.
func readPage(ctx context.Context, store app.Store, uri string, variables map[string]string) (*logPage, error) {
	if err := checkQuery(uri); err != nil {
		return nil, err
	}
	after, err := number(variables, "after", 0, 0, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	limit, err := number(variables, "limit", usualPage, 1, mostOnOne)
	if err != nil {
		return nil, err
	}
	page := &logPage{Entries: []app.Record{}}
	bytes := 0
	for record, err := range store.Records(ctx, after) {
		if err != nil {
			return nil, fmt.Errorf("reading the log: %w", err)
		}
		page.Entries = append(page.Entries, record)
		after = record.Seq
		if bytes += len(record.Data) + len(record.Result); int64(len(page.Entries)) == limit || bytes > mostBytes {
			break
		}
	}
	page.Next = fmt.Sprintf("%s?after=%d", logURI, after)
	if limit != usualPage {
		page.Next += fmt.Sprintf("&limit=%d", limit)
	}
	if page.Last, err = store.Last(ctx); err != nil {
		return nil, fmt.Errorf("reading the log: %w", err)
	}
	return page, nil
}

// number is a variable of an address that is a whole number.
func number(variables map[string]string, name string, usual, least, most int64) (int64, error) {
	text, ok := variables[name]
	if !ok {
		return usual, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case (err != nil || n < least || n > most) && most == math.MaxInt64:
		return 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "%s: %s must be a whole number from %d on, got %q", logURI, name, least, text)
	case err != nil || n < least || n > most:
		return 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "%s: %s must be a whole number from %d to %d, got %q", logURI, name, least, most, text)
	}
	return n, nil
}

// checkQuery refuses an address that asks for more than there is: a mistyped after would show another page.
func checkQuery(uri string) error {
	parsed, err := url.Parse(uri)
	if err != nil {
		return mcp.NotFound(uri)
	}
	for name, values := range parsed.Query() {
		if name != "after" && name != "limit" || len(values) > 1 {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "%s: it takes after and limit, once each, not %q", logURI, parsed.RawQuery)
		}
	}
	return nil
}
