package mcp

import (
	"context"
	"log/slog"
	"slices"

	"github.com/petrock/petrock/core/jsonrpc"
)

// A Level says how much a log message matters.
type Level string

// The levels, from the least to the most.
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

// Levels returns all levels, from the least to the most important.
func Levels() []Level {
	return []Level{LevelDebug, LevelInfo, LevelNotice, LevelWarning, LevelError, LevelCritical, LevelAlert, LevelEmergency}
}

// slog places the level among those of package slog: debug is slog.LevelDebug,
// info, warning and error likewise, and the others stand between and above them.
func (l Level) slog() slog.Level {
	switch l {
	case LevelDebug:
		return slog.LevelDebug
	case LevelInfo:
		return slog.LevelInfo
	case LevelNotice:
		return slog.LevelInfo + 2
	case LevelWarning:
		return slog.LevelWarn
	case LevelError:
		return slog.LevelError
	case LevelCritical:
		return slog.LevelError + 4
	case LevelAlert:
		return slog.LevelError + 8
	}
	return slog.LevelError + 12
}

// levelOf is the highest level that is not above l.
func levelOf(l slog.Level) Level {
	for _, level := range slices.Backward(Levels()) {
		if l >= level.slog() {
			return level
		}
	}
	return LevelDebug
}

type setLevelParams struct {
	Level Level `json:"level"`
}

func (s *Server) setLevel(_ context.Context, c *Call, p *setLevelParams) (any, error) {
	if !slices.Contains(Levels(), p.Level) {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown level %q; there are: %q", short(string(p.Level)), Levels())
	}
	c.Session.level.Store(&p.Level)
	return struct{}{}, nil
}
