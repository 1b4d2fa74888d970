package mcp

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A Revision is a version of the protocol, named by its date. Later revisions compare greater, so
// use < and >= to check for a feature.
type Revision string

// The revisions. Up to 2025-11-25 they begin with a handshake.
const (
	Revision20241105 Revision = "2024-11-05"
	Revision20250326 Revision = "2025-03-26"
	Revision20250618 Revision = "2025-06-18"
	Revision20251125 Revision = "2025-11-25"
	Revision20260728 Revision = "2026-07-28"
)

const (
	// Latest is the newest revision.
	Latest = Revision20260728
	// LatestHandshake is the newest revision that begins with a handshake.
	LatestHandshake = Revision20251125
)

// HandshakeRevisions returns the revisions that begin with a handshake, oldest first.
func HandshakeRevisions() []Revision {
	return []Revision{Revision20241105, Revision20250326, Revision20250618, Revision20251125}
}

// Revisions returns all supported revisions, newest first.
func Revisions() []Revision {
	all := append(HandshakeRevisions(), Revision20260728)
	slices.Reverse(all)
	return all
}

// stateless reports whether the revision has no sessions.
func (r Revision) stateless() bool { return r > LatestHandshake }

// Capabilities are the capabilities that a client or a server declares. A key declares a
// capability, whatever its value.
type Capabilities map[string]json.RawMessage

// Has reports whether the capability is declared. c may be nil.
func (c Capabilities) Has(name string) bool {
	_, ok := c[name]
	return ok
}

// An Implementation describes a server or a client.
type Implementation struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	WebsiteURL  string `json:"websiteUrl,omitempty"`
	Icons       []Icon `json:"icons,omitempty"`
}

// readInfo decodes the description of a client. Fields that cannot be decoded are empty.
func readInfo(raw []byte) (i Implementation, err error) {
	if strictjson.First(raw) == '{' {
		_ = strictjson.Unmarshal(raw, &i)
	}
	return i, checkInfo(raw)
}

// checkInfo returns an error if raw cannot be the description of a client. It may be missing.
func checkInfo(raw []byte) error {
	if first := strictjson.First(raw); first != '{' && first != 'n' && first != 0 {
		return fmt.Errorf("must be an object, got %s", strictjson.Describe(raw))
	}
	return nil
}

// ForRevision returns i without the fields that revision r does not have.
func (i Implementation) ForRevision(r Revision) Implementation {
	if r < Revision20250618 {
		i.Title = ""
	}
	if r < Revision20251125 {
		i.Description, i.WebsiteURL, i.Icons = "", "", nil
	}
	return i
}

// An Icon is an image that a client can show for a component.
type Icon struct {
	Src      string   `json:"src"` // an https: or data: URI
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"` // such as "48x48", or "any"
	Theme    string   `json:"theme,omitempty"` // "light" or "dark"
}

// Meta is the _meta member of an object: additional data of a peer. Keys of your own should have a
// prefix, such as "example.com/".
type Meta map[string]any

// forRevision returns nil for revisions without _meta in components and contents.
func (m Meta) forRevision(r Revision) Meta {
	if r < Revision20250618 {
		return nil
	}
	return m
}

// Keys of _meta in revision 2026-07-28.
const (
	metaPrefix       = "io.modelcontextprotocol/"
	MetaVersion      = metaPrefix + "protocolVersion"
	MetaCapabilities = metaPrefix + "clientCapabilities"
	MetaClientInfo   = metaPrefix + "clientInfo"
	MetaLogLevel     = metaPrefix + "logLevel"
	MetaServerInfo   = metaPrefix + "serverInfo"
)

// Annotations describe the audience and the importance of content.
type Annotations struct {
	Audience     []Role   `json:"audience,omitempty"`
	Priority     *float64 `json:"priority,omitempty"`     // from 0 (optional) to 1 (required)
	LastModified string   `json:"lastModified,omitempty"` // RFC 3339
}

// forRevision returns a without the fields that revision r does not have.
func (a *Annotations) forRevision(r Revision) *Annotations {
	if a == nil || r >= Revision20250618 || a.LastModified == "" {
		return a
	}
	if a.Audience == nil && a.Priority == nil {
		return nil
	}
	return &Annotations{Audience: a.Audience, Priority: a.Priority}
}

// A Role is the author of a message in a conversation with a model.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// A Cache says how long clients may cache a result. The zero value disables caching. Revisions
// before 2026-07-28 ignore it.
type Cache struct {
	TTL    time.Duration
	Public bool // the result is the same for all users
}

// A Level is the severity of a log message.
type Level string

// The levels, from the lowest to the highest.
const (
	LevelDebug     Level = "debug"
	LevelInfo      Level = "info"
	LevelNotice    Level = "notice"
	LevelWarning   Level = "warning"
	LevelError     Level = "error"
	LevelCritical  Level = "critical"
	LevelAlert     Level = "alert"
	LevelEmergency Level = "emergency"
)

// levels returns all levels, from the lowest to the highest.
func levels() []Level {
	return []Level{LevelDebug, LevelInfo, LevelNotice, LevelWarning, LevelError, LevelCritical, LevelAlert, LevelEmergency}
}

// slog returns the level as a [slog.Level].
func (l Level) slog() slog.Level {
	return []slog.Level{-4, 0, 2, 4, 8, 12, 16, 20}[slices.Index(levels(), l)]
}

// levelOf returns the highest level that is not above l.
func levelOf(l slog.Level) Level {
	for _, level := range slices.Backward(levels()) {
		if l >= level.slog() {
			return level
		}
	}
	return LevelDebug
}

// The error codes of revision 2026-07-28.
const (
	HeaderMismatch     jsonrpc.Code = -32020 // an HTTP header does not match the request
	MissingCapability  jsonrpc.Code = -32021 // the client lacks a capability that the request needs
	UnsupportedVersion jsonrpc.Code = -32022 // the request names an unsupported revision
)

// dropNewer clears the fields of a component that revision r does not have.
func dropNewer(r Revision, title *string, icons *[]Icon, meta *Meta) {
	if r < Revision20251125 {
		*icons = nil
	}
	if r < Revision20250618 {
		*title, *meta = "", nil
	}
}

// short clips text of a client for an error or a log line, so that it cannot flood either.
func short(text string) string { return strictjson.Clip(text, 100) }

// checkName returns an error if clients or models may refuse the name of a tool or prompt.
func checkName(name string) error {
	const maxLength = 128
	if name == "" || len(name) > maxLength {
		return fmt.Errorf("name must have 1 to %d characters, got %d", maxLength, len(name))
	}
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	if wrong := []rune(strings.TrimLeft(name, characters)); len(wrong) > 0 {
		return fmt.Errorf("name must consist of letters, digits, '_', '-' and '.', got %q", wrong[0])
	}
	return nil
}
