package token

import (
	"maps"
	"slices"
	"strings"
)

// insufficient is why somebody who is known may not come in.
const insufficient = "insufficient_scope"

// Challenge implements [auth.Gate]. It names the metadata, where clients find who gives tokens out, and the scopes to ask for:
// those that every call needs and, with those given, all that the call in hand needs.
func (g *Gate) Challenge(why string, scopes []string) string {
	need := slices.Clone(g.required)
	for _, scope := range scopes {
		if isScope(scope) && !slices.Contains(need, scope) {
			need = append(need, scope)
		}
	}
	if len(scopes) > 0 && why == "" {
		why = insufficient
	}
	where := parameter("resource_metadata", g.metadataURL())
	which := parameter("scope", strings.Join(need, " "))
	all := []string{where, which, parameter("error", why), parameter("error_description", describeError(why))}
	if why == insufficient {
		all = []string{parameter("error", why), which, where}
	}
	return "Bearer " + strings.Join(slices.DeleteFunc(all, func(p string) bool { return p == "" }), ", ")
}

// Wants implements [auth.Gate].
func (g *Gate) Wants() string {
	return "a token of " + strings.Join(slices.Sorted(maps.Keys(g.issuers)), " or ") + " as Authorization: Bearer"
}

// describeError is an error code for people, "" if it says all there is to say.
func describeError(why string) string {
	if why == "invalid_token" {
		return "the token is not good for this server, or not any more"
	}
	return ""
}

// parameter is a parameter of a challenge, "" for one that has no value.
func parameter(name, value string) string {
	if value == "" {
		return ""
	}
	return name + `="` + strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, value) + `"`
}
