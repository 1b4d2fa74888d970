package token

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/petrock/petrock/core/auth"
)

// maxToken is how long a token may be.
const maxToken = 16 << 10

// A Gate tells who calls by a bearer token. It implements [auth.Gate].
type Gate struct {
	resource string
	page     string // the path of the metadata
	metadata []byte
	audience []string
	required []string
	leeway   time.Duration
	log      *slog.Logger
	issuers  map[string]*issuer // by name
}

// Enter implements [auth.Gate]. What is no JWT is no credentials that this gate knows: it may be the key of another. An error
// that is no [*auth.Refusal] says that the keys of an issuer cannot be had, and with it, nothing can be said of the token.
func (g *Gate) Enter(r *http.Request) (*auth.Identity, error) {
	text, err := bearer(r)
	if err != nil || text == "" {
		return nil, err
	}
	id, err := g.enter(r.Context(), text)
	if refusal := (*auth.Refusal)(nil); errors.As(err, &refusal) {
		g.log.Debug("a token was refused", "why", refusal.Message) // which has nothing of the token in it
	}
	return id, err
}

// enter returns whom a token is about.
func (g *Gate) enter(ctx context.Context, text string) (*auth.Identity, error) {
	t, err := parse(text)
	if err != nil || t == nil {
		return nil, err
	}
	from, ok := g.issuers[t.issuer()]
	if !ok {
		return nil, invalid("the token is from an issuer that is not known here")
	}
	payload, err := from.verify(ctx, t)
	if err != nil {
		return nil, err
	}
	return g.identify(from.name, payload, time.Now())
}

// Warm fetches the keys of all issuers, so that the first call need not wait, and a wrong issuer is seen at once.
func (g *Gate) Warm(ctx context.Context) error {
	var errs []error
	for _, from := range g.issuers {
		errs = append(errs, from.refresh(ctx))
	}
	return errors.Join(errs...)
}

// bearer is the token of a request, "" if it has none.
func bearer(r *http.Request) (string, error) {
	if r.URL != nil && strings.Contains(r.URL.RawQuery, "access_token") && r.URL.Query().Has("access_token") {
		return "", &auth.Refusal{Why: "invalid_request", Message: "a token does not belong into a URL, where others see it; send it in the header Authorization, and have this one revoked"}
	}
	given := r.Header.Values("Authorization")
	if len(given) == 0 {
		return "", nil
	}
	if len(given) > 1 {
		return "", &auth.Refusal{Why: "invalid_request", Message: "there are several headers Authorization; send one"}
	}
	scheme, text, _ := strings.Cut(given[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", nil
	}
	text = strings.Trim(text, " ")
	if len(text) > maxToken {
		return "", invalid(fmt.Sprintf("the token is longer than %d bytes", maxToken))
	}
	return text, nil
}

// invalid is why a token is not taken.
func invalid(message string) error { return &auth.Refusal{Why: "invalid_token", Message: message} }
