package app_test

import (
	"context"
	"fmt"

	"github.com/petrock/petrock/core/app"
)

// Posts is what the log says of posts.
type Posts struct {
	ByID map[string]Post `json:"by_id"`
}

// A Post is one of them.
type Post struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Create adds a post.
type Create struct {
	Title string `json:"title" schema:"min=1"` // Title
}

// Check says why it cannot be added now. Nothing that it refuses is in the log.
func (c Create) Check(ctx context.Context, s *Posts) error {
	for _, post := range s.ByID {
		if post.Title == c.Title {
			return fmt.Errorf("there is a post %q", c.Title)
		}
	}
	return nil
}

// Apply adds it. It goes by the state, the command and its entry in the log alone.
func (c Create) Apply(s *Posts, e app.Entry) Post {
	post := Post{ID: e.ID, Title: c.Title}
	s.ByID[post.ID] = post
	return post
}

// Many asks how many posts there are.
type Many struct{}

// Answer counts them.
func (q Many) Answer(ctx context.Context, s *Posts) (int, error) { return len(s.ByID), nil }

// posts is what derived code makes of such a package.
func posts() app.Feature {
	return app.Feature{
		Name:     "posts",
		State:    app.StateOf(func() *Posts { return &Posts{ByID: map[string]Post{}} }),
		Commands: []app.Command{app.CommandOf[Create]("create", 1)},
		Queries:  []app.Query{app.QueryOf[Many]("many")},
	}
}

// A state outlives the app that it was made in: the next one has it from the log.
func Example() {
	ctx := context.Background()
	log := app.NewMemory()
	first, err := app.Open(ctx, log, app.Options{NewID: func() string { return "a" }}, posts())
	if err != nil {
		fmt.Println(err)
		return
	}
	made, err := app.Execute(ctx, first, Create{Title: "Hello"})
	fmt.Printf("%s %v\n", made, err)
	_, err = app.Execute(ctx, first, Create{Title: "Hello"})
	fmt.Println(err)

	second, err := app.Open(ctx, log.Share(), app.Options{}, posts())
	if err != nil {
		fmt.Println(err)
		return
	}
	many, err := app.Ask(app.With(ctx, second), Many{})
	fmt.Println(many, err)
	// Output:
	// {"id":"a","title":"Hello"} <nil>
	// there is a post "Hello"
	// 1 <nil>
}
