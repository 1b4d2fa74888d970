package postgres_test

import (
	"context"
	"fmt"
	"log"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/postgres"
)

// The event log in the schema hello of a database. Processes on several machines can open it.
func ExampleOpen() {
	ctx := context.Background()
	store, err := postgres.Open(ctx, "postgres://hello@db.example.com/shop", "hello", eventlog.OpenOrCreate)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	a, err := app.Open(ctx, store, app.Options{Program: "hello"}) // and its features
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Status(ctx))
}
