package appmcp

import (
	"context"
	"errors"
	"slices"
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
// app. The contexts of all calls lead to the app, so that other tools too may use [app.Do] and [app.Ask]. Clients that have subscribed to one of the resources are told when it has changed, as long as the app runs.
//
// The log and the workers show what all commands were given and came to, so who reads them by a token needs the scopes of all tools
// of the features.
func Register(s *mcp.Server, a *app.App, store app.Store, features ...Feature) error {
	var errs []error
	before := s.ToolScopes()
	for _, f := range features {
		if f.Register != nil {
			errs = append(errs, f.Register(s, a))
		}
	}
	errs = append(errs, registerResources(s, a, store, added(before, s.ToolScopes())))
	s.Provide(func(ctx context.Context) context.Context { return app.With(ctx, a) })
	a.Watch(func() { s.ResourcesUpdated(shows) })
	return errors.Join(errs...)
}

// added are the scopes of the tools that are there now and were not before.
func added(before, now map[string][]string) []string {
	var all []string
	for name, scopes := range now {
		if _, ok := before[name]; !ok {
			all = append(all, scopes...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// shows reports whether an address is that of one of the app's resources, with whatever query.
func shows(uri string) bool {
	place, _, _ := strings.Cut(uri, "?")
	return place == logURI || place == featuresURI || place == workersURI
}
