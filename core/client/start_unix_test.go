//go:build unix

package client_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/client"
)

// A server that reads nothing and ends is told of by how it ended and what it said, not by the pipe that broke.
func TestServerThatDoesNotRead(t *testing.T) {
	_, err := client.Start(t.Context(), client.Command{Program: "sh", Args: []string{"-c", "exec 0<&-; sleep 0.2; echo no database >&2; exit 4"}}, client.Options{})
	var unreached *client.ConnectionError
	if !errors.As(err, &unreached) || !strings.Contains(err.Error(), "exit status 4") || !strings.Contains(err.Error(), "no database") {
		t.Errorf("it says %v", err)
	}
}
