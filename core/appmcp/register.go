package appmcp

import (
	"errors"
	"strings"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/mcp"
)

// A Feature is a feature with the tools that its commands and queries are. Derived code makes one of a package.
type Feature struct {
	app.Feature
	Register func(*mcp.Server, *app.App) error
}

// Register offers the tools of all features, and what there is to see of the app as resources. The store is that of the
// app. Clients that have subscribed to one of the resources are told when it has changed, as long as the app runs.
func Register(s *mcp.Server, a *app.App, store app.Store, features ...Feature) error {
	var errs []error
	for _, f := range features {
		if f.Register != nil {
			errs = append(errs, f.Register(s, a))
		}
	}
	errs = append(errs, registerResources(s, a, store))
	a.Watch(func() { s.ResourcesUpdated(shows) })
	return errors.Join(errs...)
}

// shows reports whether an address is that of one of the app's resources, with whatever query.
func shows(uri string) bool {
	place, _, _ := strings.Cut(uri, "?")
	return place == logURI || place == featuresURI || place == workersURI
}
