package tools

import "context"

// Clients also send this argument as an HTTP header, so that a proxy can route the call without
// reading the message.

// RegionInput is the input of test_custom_header.
type RegionInput struct {
	Region string `json:"region" schema:"header=Region"` // Region to work in
}

// Region returns the region.
//
//petrock:name test_custom_header
//petrock:hints read-only closed-world
func Region(_ context.Context, in RegionInput) (string, error) {
	return "The region is " + in.Region, nil
}
