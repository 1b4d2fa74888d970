// Package resources holds the server's resources.
package resources

import (
	"context"
	"time"

	"github.com/petrock/petrock/skeleton/example/everything/media"
)

// StaticText returns a constant text.
//
//petrock:uri test://static-text
//petrock:title A text
func StaticText(context.Context) (string, error) {
	return "This is the content of the static text resource.", nil
}

// StaticBinary returns an image.
//
//petrock:uri test://static-binary
//petrock:mime image/png
func StaticBinary(context.Context) ([]byte, error) { return media.Pixel() }

// WatchedResource returns the current time. Clients can subscribe to it, as to every resource; the
// tool test_trigger_resource_change notifies them.
//
//petrock:uri test://watched-resource
func WatchedResource(context.Context) (string, error) {
	return "It is " + time.Now().UTC().Format(time.RFC3339), nil
}
