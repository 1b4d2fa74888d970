//go:build unix

package mcp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcp"
)

// A server that reads nothing and ends is told of by how it ended and what it said, not by the pipe that broke.
func TestServerThatDoesNotRead(t *testing.T) {
	_, err := mcp.Start(t.Context(), mcp.Command{Program: "sh", Args: []string{"-c", "exec 0<&-; sleep 0.2; echo no database >&2; exit 4"}}, mcp.ClientOptions{})
	var unreached *mcp.ConnectionError
	if !errors.As(err, &unreached) || !strings.Contains(err.Error(), "exit status 4") || !strings.Contains(err.Error(), "no database") {
		t.Errorf("it says %v", err)
	}
}
