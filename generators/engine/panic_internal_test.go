package engine

import (
	"slices"
	"testing"

	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/journal"
)

// An undo of a version makes its stored events unreadable.
func TestUndoneVersions(t *testing.T) {
	record := func(version int) []byte {
		c := contract.New()
		c.Commands["posts/create"] = contract.Command{Version: version}
		text, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if got := lostEvents([]journal.Change{{Path: contract.File, Before: record(2), After: record(1)}}); !slices.Equal(got, []string{"posts/create (version 2)"}) {
		t.Errorf("got %q", got)
	}
	if got := lostEvents([]journal.Change{{Path: contract.File, Before: record(1), After: record(2)}}); got != nil {
		t.Errorf("of a new version: %q", got)
	}
}
