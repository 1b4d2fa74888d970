package storetest_test

import (
	"fmt"
	"testing"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/storetest"
)

// The test of a store.
func ExampleRun() {
	testStore := func(t *testing.T) { // func TestStore(t *testing.T) {
		storetest.Run(t, func(t *testing.T) (first, second eventlog.Store) {
			store := eventlog.NewMemory()
			return store, store.Share()
		})
	}
	_ = testStore
}

// A test of what a store keeps, for example after its process was killed.
func ExampleCheck() {
	store := eventlog.NewMemory()
	last, err := storetest.Append(store, 3)
	fmt.Println(last, err)
	fmt.Println(storetest.Check(store.Share(), last))
	// Output:
	// 3 <nil>
	// <nil>
}
