//go:build unix

package client_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/client"
)

// The error for a server that exits early has its exit code and standard error, not "broken pipe".
func TestServerThatDoesNotRead(t *testing.T) {
	_, err := client.Start(t.Context(), client.Command{Program: "sh", Args: []string{"-c", "exec 0<&-; sleep 0.2; echo no database >&2; exit 4"}}, client.Options{})
	var unreached *client.ConnectionError
	if !errors.As(err, &unreached) || !strings.Contains(err.Error(), "exit status 4") || !strings.Contains(err.Error(), "no database") {
		t.Errorf(`got %v (%T); want a *ConnectionError containing "exit status 4" and "no database"`, err, err)
	}
}
