package app_test

import (
	"context"
	"fmt"

	"github.com/petrock/petrock/core/app"
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
	Title string `json:"title" schema:"min=1"` // Title
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

// Many asks for the number of posts.
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

// CreateV1 is Create as it was before Name became Title.
type CreateV1 struct {
	Name string `json:"name"`
}

// Upgrade returns the same command in the next version.
func (old CreateV1) Upgrade() Create { return Create{Title: old.Name} }

// Events of an older version are read as the type of that version, and upgraded.
func ExampleOlderOf() {
	ctx := context.Background()
	log := app.NewMemory()
	err := log.Write(ctx, func(tx app.Tx) error {
		return tx.Append(app.Record{Event: app.Event{Seq: 1, ID: "a"}, Type: "posts/create", Version: 1, Data: []byte(`{"name":"Hello"}`)})
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

// State outlives its app: the next app rebuilds it from the log.
func Example() {
	ctx := context.Background()
	log := app.NewMemory()
	first, err := app.Open(ctx, log, app.Options{NewID: func() string { return "a" }}, posts())
	if err != nil {
		fmt.Println(err)
		return
	}
	made, err := app.DoRaw(ctx, first, Create{Title: "Hello"})
	fmt.Printf("%s %v\n", made, err)
	_, err = app.DoRaw(ctx, first, Create{Title: "Hello"})
	fmt.Println(err)

	second, err := app.Open(ctx, log.Share(), app.Options{}, posts())
	if err != nil {
		fmt.Println(err)
		return
	}
	many, err := app.Query(app.With(ctx, second), Many{})
	fmt.Println(many, err)
	// Output:
	// {"id":"a","title":"Hello"} <nil>
	// post "Hello" already exists
	// 1 <nil>
}
