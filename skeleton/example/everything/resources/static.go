// Package resources holds the resources that clients can read.
package resources

import (
	"context"
	"time"

	"github.com/petrock/petrock/skeleton/example/everything/media"
)

// StaticText is a text that is always the same.
//
//petrock:uri test://static-text
//petrock:title A text
func StaticText(context.Context) (string, error) {
	return "This is the content of the static text resource.", nil
}

// StaticBinary is a picture.
//
//petrock:uri test://static-binary
//petrock:mime image/png
func StaticBinary(context.Context) ([]byte, error) { return media.Pixel() }

// WatchedResource tells what time it is. Clients can subscribe to it, as to every resource, and are told when the server says that it has
// changed.
//
//petrock:uri test://watched-resource
func WatchedResource(context.Context) (string, error) {
	return "It is " + time.Now().UTC().Format(time.RFC3339), nil
}
