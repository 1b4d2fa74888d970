package eventlog_test

import (
	"context"
	"fmt"

	"github.com/petrock/petrock/core/app/eventlog"
)

// A transaction appends an event and stores a document, and a view reads both as of one moment.
func Example() {
	ctx := context.Background()
	store := eventlog.NewMemory()
	err := store.Write(ctx, func(tx eventlog.Tx) error {
		last, err := tx.Last()
		if err != nil {
			return err
		}
		created := eventlog.Record{
			Seq: last + 1, ID: "a", Actor: "ada",
			Type: "posts/create", Version: 1, Data: []byte(`{"title":"Hello"}`),
		}
		if err := tx.Append(created); err != nil {
			return err
		}
		return tx.Put("position", []byte("1"))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = store.View(ctx, func(v eventlog.View) error {
		for r, err := range v.Records(0) {
			if err != nil {
				return err
			}
			fmt.Println(r.Seq, r.Type, string(r.Data), "by", r.Actor)
		}
		position, err := v.Get("position")
		fmt.Printf("position %s\n", position)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 posts/create {"title":"Hello"} by ada
	// position 1
}

// A map function reads the events of a removed command as another command.
func ExampleRecord_Decode() {
	old := eventlog.Record{Seq: 7, Type: "posts/show", Version: 1, Data: []byte(`{"post":"a"}`)}
	var show struct {
		Post string `json:"post"`
	}
	fmt.Println(old.Decode(&show), show.Post)

	var wrong struct {
		Title string `json:"title"`
	}
	fmt.Println(old.Decode(&wrong) != nil)
	// Output:
	// <nil> a
	// true
}
