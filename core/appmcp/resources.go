package appmcp

import (
	"context"
	"errors"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/mcp"
)

// The addresses of the app's resources.
const (
	logURI      = "app://log"
	featuresURI = "app://features"
	workersURI  = "app://workers"
)

// asJSON is the type of all of them.
const asJSON = "application/json"

// registerResources offers what there is to see of an app, of which the log and the workers need scopes.
func registerResources(s *mcp.Server, a *app.App, store app.Store, scopes []string) error {
	return errors.Join(
		s.AddResource(mcp.Resource{
			URI: logURI, Name: "log", Title: "The log", MIMEType: asJSON, Scopes: scopes,
			Description: "The commands that were executed, oldest first, a page at a time; next is the address of what follows.",
		}, readLog(store)),
		s.AddResourceTemplate(mcp.ResourceTemplate{
			URITemplate: logURI + "{?after,limit}", Name: "log_after", Title: "The log after an entry", MIMEType: asJSON, Scopes: scopes,
			Description: "The commands that were executed after the one with the sequence number after (0 if left out), at most limit of them (100 if left out, never more than 1000, and fewer if they are big).",
		}, readLog(store)),
		mcp.AddResource(s, mcp.Resource{
			URI: featuresURI, Name: "features", Title: "The features", MIMEType: asJSON,
			Description: "The features of the application, with their commands, queries and workers. A feature with stuck answers no calls: it says why.",
		}, a.Status),
		mcp.AddResource(s, mcp.Resource{
			URI: workersURI, Name: "workers", Title: "The workers", MIMEType: asJSON, Scopes: scopes,
			Description: "How far each worker is, what it fails on, and what was set aside.",
		}, func(ctx context.Context) (workersPage, error) {
			all, err := app.Workers(ctx, store)
			return workersPage{all}, err
		}),
	)
}

// A workersPage is what app://workers shows.
type workersPage struct {
	Workers []app.WorkerStatus `json:"workers"`
}
