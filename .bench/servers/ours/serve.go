package main

import (
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// newServeCmd is not run by the benchmark. It is here so that net/http is in the
// program, as it is in a user's.
func newServeCmd() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve HTTP",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			mux := http.NewServeMux()
			mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusNoContent)
			})
			server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
			return server.ListenAndServe()
		},
	}
	cmd.Flags().StringVar(&address, "address", "localhost:8080", "where to listen")
	return cmd
}
