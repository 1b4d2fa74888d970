package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/sqlite"
)

// A Counter is the state of the feature.
type Counter struct{ N int }

// Add is its command.
type Add struct {
	By int `json:"by"`
}

func (c Add) Check(context.Context, *Counter) error { return nil }

func (c Add) Apply(s *Counter, e app.Event) int {
	s.N += c.By
	return s.N
}

// A feature whose events are in a file: the second run continues where the first has ended.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	counter := app.Feature{
		Name:     "counter",
		State:    app.StateOf(func() *Counter { return &Counter{} }),
		Commands: []app.CommandType{app.CommandTypeOf[Add]("add", 1)},
	}
	for range 2 {
		store, err := sqlite.Open(context.Background(), filepath.Join(dir, "log.db"))
		if err != nil {
			log.Fatal(err)
		}
		a, err := app.Open(context.Background(), store, app.Options{}, counter)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(app.Do(app.With(context.Background(), a), Add{By: 5}))
		if err := store.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 5 <nil>
	// 10 <nil>
}
