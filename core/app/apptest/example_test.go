package apptest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/apptest"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
)

// A Guestbook is the state of the feature.
type Guestbook struct{ Names []string }

// Sign is its command.
type Sign struct {
	Name string `json:"name"`
}

func (c Sign) Check(_ context.Context, s *Guestbook) error {
	if len(s.Names) == 1 {
		return errors.New("the guestbook is full")
	}
	return nil
}

func (c Sign) Apply(s *Guestbook, e app.Event) int {
	s.Names = append(s.Names, c.Name)
	return len(s.Names)
}

// guestbook returns the feature, as derived code does.
func guestbook() appmcp.Feature {
	return appmcp.Feature{
		Feature: app.Feature{
			Name:     "guestbook",
			State:    app.StateOf(func() *Guestbook { return &Guestbook{} }),
			Commands: []app.CommandType{app.CommandTypeOf[Sign]("sign", 1)},
		},
		Register: func(s *mcp.Server, a *app.App) error {
			return mcp.AddTool(s, mcp.Tool{Name: "guestbook_sign"}, appmcp.Do[Sign](a))
		},
	}
}

// testSign is the test of the feature: it prepares the state, and checks the result of a tool.
func testSign(t *testing.T) { // func TestSign(t *testing.T) {
	client := apptest.Serve(t, guestbook())
	client.Given("guestbook_sign", Sign{Name: "Ann"})
	client.CheckTool(t, "guestbook_sign", mcptest.Example{Input: Sign{Name: "Bob"}, Error: "the guestbook is full"})
}

// A feature, and its test.
func ExampleServe() {
	_ = testSign
}
