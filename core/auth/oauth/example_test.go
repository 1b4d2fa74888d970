package oauth_test

import (
	"context"
	"os"

	"github.com/petrock/petrock/core/auth/oauth"
	"github.com/petrock/petrock/core/serve"
)

// A server whose command serve has the flags --oauth-issuer and so on.
func Example() {
	config := serve.Config{Name: "notes", Wire: func() serve.Wiring {
		return serve.Wiring{Extensions: func(program string) []serve.Extension {
			return []serve.Extension{oauth.New(program)}
		}}
	}}
	args := []string{"serve", "--addr", "127.0.0.1:0", "--oauth-scopes", "notes:read"}
	serve.Run(context.Background(), config, args, os.Stdout, os.Stdout)
	// Output:
	// notes: OAuth options without an issuer; set --oauth-issuer or NOTES_OAUTH_ISSUER
	// Run 'notes serve --help' for usage.
}
