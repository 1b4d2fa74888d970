package appserve_test

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/appserve"
	"github.com/petrock/petrock/core/mcp"
)

// A Counter is the state of the feature.
type Counter struct{ N int }

// counter returns the feature, as derived code does.
func counter() appmcp.Feature {
	return appmcp.Feature{
		Feature:  app.Feature{Name: "counter", State: app.StateOf(func() *Counter { return &Counter{} })},
		Register: func(*mcp.Server, *app.App) error { return nil },
	}
}

// The commands that manage the data of a program. In a project, package serve adds them to the
// command line of the server.
func Example() {
	root := &cobra.Command{Use: "hello"}
	root.AddGroup(&cobra.Group{ID: "Manage data:", Title: "Manage data:"})
	for _, cmd := range appserve.New("hello", counter()).Commands() {
		root.AddCommand(cmd)
	}
	for _, cmd := range root.Commands() {
		if !cmd.Hidden {
			fmt.Printf("hello %s: %s\n", cmd.Name(), cmd.Short)
		}
	}
	// Output:
	// hello backup: Back up the data to a file
	// hello log: Show the event log
	// hello replay: Rebuild the state from the event log, and verify the snapshots
	// hello restore: Restore the data from a backup
	// hello try: Try commands, workers and the passing of time on a copy of the data
	// hello workers: Show the progress and failures of the workers
}
