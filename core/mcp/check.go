package mcp

import (
	"fmt"
	"strings"
)

// encodable reports why a component cannot be described to clients, such as for a function in
// its Meta: better now than in every list that it is part of.
func encodable(item listed) error {
	if _, err := appendDescription(nil, item, LatestHandshake); err != nil {
		return fmt.Errorf("cannot be sent to clients: %w", err)
	}
	return nil
}

// short is what a client sent, for an error that is sent back to it.
func short(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// checkName holds names to what every client accepts.
func checkName(name string) error {
	const most = 128
	if name == "" || len(name) > most {
		return fmt.Errorf("name must have 1 to %d characters, got %d", most, len(name))
	}
	for _, c := range name {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.ContainsRune("_.-", c):
		default:
			return fmt.Errorf("name must consist of letters, digits, '_', '-' and '.', got %q", c)
		}
	}
	return nil
}
