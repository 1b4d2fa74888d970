package app_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// Posts is the state: all posts.
type Posts struct {
	ByID map[string]Post `json:"by_id"`
}

// A Post is a post.
type Post struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Create adds a post.
type Create struct {
	Title string `json:"title" schema:"min=1"`
}

// Check refuses a title that exists. Refused commands are not in the log.
func (c Create) Check(ctx context.Context, s *Posts) error {
	for _, post := range s.ByID {
		if post.Title == c.Title {
			return fmt.Errorf("post %q already exists", c.Title)
		}
	}
	return nil
}

// Apply adds it. It depends only on the state, the command and its event.
func (c Create) Apply(s *Posts, e app.Event) Post {
	post := Post{ID: e.ID, Title: c.Title}
	s.ByID[post.ID] = post
	return post
}

// Many returns the number of posts.
type Many struct{}

// Answer counts them.
func (q Many) Answer(ctx context.Context, s *Posts) (int, error) { return len(s.ByID), nil }

// posts returns the feature, as derived code does.
func posts() app.Feature {
	return app.Feature{
		Name:     "posts",
		State:    app.StateOf(func() *Posts { return &Posts{ByID: map[string]Post{}} }),
		Commands: []app.CommandType{app.CommandTypeOf[Create]("create", 1)},
		Queries:  []app.QueryType{app.QueryTypeOf[Many]("many")},
	}
}

// State outlives its app: the next app rebuilds it from the log.
func Example() {
	log := eventlog.NewMemory()
	first, err := app.Open(context.Background(), log, app.Options{NewID: func() string { return "a" }}, posts())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := app.With(context.Background(), first) // contexts of workers and tools have the app already
	made, err := app.Do(ctx, Create{Title: "Hello"})
	fmt.Println(made.Title, err)
	_, err = app.Do(ctx, Create{Title: "Hello"})
	fmt.Println(err, errors.Is(err, app.ErrRefused))

	second, err := app.Open(ctx, log.Share(), app.Options{}, posts())
	if err != nil {
		fmt.Println(err)
		return
	}
	many, err := app.Query(app.With(ctx, second), Many{})
	fmt.Println(many, err)
	// Output:
	// Hello <nil>
	// post "Hello" already exists true
	// 1 <nil>
}

// CreateV1 is Create as it was before Name became Title.
type CreateV1 struct {
	Name string `json:"name"`
}

// Upgrade returns the same command in the next version.
func (old CreateV1) Upgrade() Create { return Create{Title: old.Name} }

// Events of an older version are read as the type of that version, and upgraded.
func ExampleOlderOf() {
	ctx := context.Background()
	log := eventlog.NewMemory()
	err := log.Write(ctx, func(tx eventlog.Tx) error {
		return tx.Append(eventlog.Record{Seq: 1, ID: "a", Type: "posts/create", Version: 1, Data: []byte(`{"name":"Hello"}`)})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	feature := posts()
	feature.Commands = []app.CommandType{app.CommandTypeOf[Create]("create", 2, app.OlderOf[CreateV1](1))}
	a, err := app.Open(ctx, log, app.Options{}, feature)
	if err != nil {
		fmt.Println(err)
		return
	}
	states, err := a.Dump(ctx)
	fmt.Printf("%s %v\n", states["posts"], err)
	// Output:
	// {"by_id":{"a":{"id":"a","title":"Hello"}}} <nil>
}

// An event that was a mistake is skipped from now on. It stays in the log.
func ExampleAdmin_Amend() {
	ctx := context.Background()
	log := eventlog.NewMemory()
	server, err := app.Open(ctx, log, app.Options{}, posts())
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := app.Do(app.With(ctx, server), Create{Title: "Oops"}); err != nil {
		fmt.Println(err)
		return
	}

	admin := app.NewAdmin(log.Share(), app.Options{}, posts()) // in another process
	skip := app.Amendment{Seq: 1, Skip: true, Reason: "a mistake"}.Edit()
	if err := admin.TryAmend(ctx, skip); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := admin.Amend(ctx, skip); err != nil {
		fmt.Println(err)
		return
	}
	many, err := app.Query(app.With(ctx, server), Many{}) // the running server follows
	fmt.Println(many, err)
	// Output:
	// 0 <nil>
}
