package tools

import "context"

// An argument that is in a header too can be read by what stands before the server, to send the call to the right
// place for instance, without a look at the message.

// RegionInput is what test_custom_header takes.
type RegionInput struct {
	Region string `json:"region" schema:"header=Region"` // Where the work is to be done
}

// Region tells where the work would be done.
//
//petrock:name test_custom_header
//petrock:hints read-only closed-world
func Region(_ context.Context, in RegionInput) (string, error) {
	return "The region is " + in.Region, nil
}
