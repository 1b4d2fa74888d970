package apptest

import (
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/appmcp"
)

// Replayed is the command that an event stands for when the log is replayed: read strictly, and upgraded to the version that
// features have. It fails the test if the event cannot be read, or stands for another command.
func Replayed[C any](t testing.TB, event app.Record, features ...appmcp.Feature) C {
	t.Helper()
	var plain []app.Feature
	for _, f := range features {
		plain = append(plain, f.Feature)
	}
	var none C
	a, err := app.Open(t.Context(), app.NewMemory(), app.Options{Program: "test", Partial: true, Fingerprint: "test"}, plain...)
	if err != nil {
		t.Fatal(err)
		return none
	}
	read, err := a.Command(event)
	if err != nil {
		t.Fatalf("%s, version %d, %s: the event %v", event.Type, event.Version, event.Data, err)
	}
	command, ok := read.(C)
	if !ok {
		t.Fatalf("%s, version %d, %s: got %T, want %T", event.Type, event.Version, event.Data, read, none)
	}
	return command
}
