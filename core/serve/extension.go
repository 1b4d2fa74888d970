package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcp"
)

// An extension is something that the server has beside tools, resources and prompts, such as the data of features.
type extension interface {
	// Flags adds what it takes to a command that serves.
	Flags(cmd *cobra.Command)

	// Commands are those of its own.
	Commands() []*cobra.Command

	// Open offers on a server what there is, and starts what goes on beside it, which logs to log. end stops that, and returns when it has
	// stopped.
	Open(ctx context.Context, s *mcp.Server, log *slog.Logger) (end func() error, err error)
}

// openAll opens extensions in order. end closes them in reverse, each of them. If one cannot be opened, those
// before it are closed.
func openAll(ctx context.Context, s *mcp.Server, log *slog.Logger, with []extension) (end func() error, err error) {
	var ends []func() error
	end = func() error {
		var errs []error
		for _, end := range slices.Backward(ends) {
			errs = append(errs, end())
		}
		return errors.Join(errs...)
	}
	for _, e := range with {
		one, err := e.Open(ctx, s, log)
		if err != nil {
			return nil, errors.Join(err, end())
		}
		ends = append(ends, one)
	}
	return end, nil
}
