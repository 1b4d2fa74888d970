//go:build ask

package peers_test

// versions are those in which every feature is tried.
var versions = append([]string{stateless}, handshakes...)

// buildArgs are for building the fixture.
var buildArgs = []string{"-tags", "ask"}
