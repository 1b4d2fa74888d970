//go:build !ask

package peers_test

import "testing"

// versions are those in which every feature is tried.
var versions = handshakes

// buildArgs are for building the fixture.
var buildArgs []string

// TestFallBack leaves the choice to the client. It asks for the newest revision
// first, and must come down to the handshake over the same pipe.
func TestFallBack(t *testing.T) {
	s := connect(t, "", nil)
	if got := s.InitializeResult().ProtocolVersion; got != "2025-11-25" {
		t.Errorf("agreed on %s", got)
	}
	call(t, s, "revision", nil)
}
