package auth_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/auth"
)

const (
	oldKey = "0123456789abcdef0123456789abcdef"
	newKey = "correct-horse-battery-staple"
)

func TestKeys(t *testing.T) {
	gate, err := auth.Keys("weather", []string{oldKey, newKey})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		header http.Header
		known  bool
		why    string // of the refusal
	}{
		{"nothing", http.Header{}, false, ""},
		{"a token", http.Header{"X-Api-Token": {oldKey}}, true, ""},
		{"the other", http.Header{"X-Api-Token": {newKey}}, true, ""},
		{"a bearer", http.Header{"Authorization": {"Bearer " + newKey}}, true, ""},
		{"the scheme in other letters", http.Header{"Authorization": {"bEARER  " + newKey}}, true, ""},
		{"both, the same", http.Header{"X-Api-Token": {oldKey}, "Authorization": {"Bearer " + oldKey}}, true, ""},
		{"both, two keys", http.Header{"X-Api-Token": {oldKey}, "Authorization": {"Bearer " + newKey}}, false, "invalid_request"},
		{"both, one good", http.Header{"X-Api-Token": {oldKey}, "Authorization": {"Bearer other"}}, false, "invalid_request"},
		{"both, one empty", http.Header{"X-Api-Token": {oldKey}, "Authorization": {"Bearer "}}, false, "invalid_request"},
		{"a token, and another scheme", http.Header{"X-Api-Token": {oldKey}, "Authorization": {"Basic abc"}}, true, ""},
		{"two tokens", http.Header{"X-Api-Token": {oldKey, oldKey}}, false, "invalid_request"},
		{"two bearers", http.Header{"Authorization": {"Bearer " + oldKey, "Bearer " + oldKey}}, false, "invalid_request"},
		{"a wrong token", http.Header{"X-Api-Token": {oldKey + "0"}}, false, "invalid_token"},
		{"an empty token", http.Header{"X-Api-Token": {""}}, false, "invalid_token"},
		{"a part of a token", http.Header{"X-Api-Token": {oldKey[:31]}}, false, "invalid_token"},
		{"both keys in one", http.Header{"X-Api-Token": {oldKey + "," + newKey}}, false, "invalid_token"},
		{"a third-party bearer token", http.Header{"Authorization": {"Bearer eyJhbGciOi"}}, false, ""},
		{"an empty bearer", http.Header{"Authorization": {"Bearer "}}, false, ""},
		{"another scheme", http.Header{"Authorization": {"Basic " + oldKey}}, false, ""},
		{"no scheme", http.Header{"Authorization": {oldKey}}, false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			id, err := gate.Authenticate(&http.Request{Header: test.header})
			var refusal *auth.Refusal
			why := ""
			if errors.As(err, &refusal) {
				why = refusal.Code
			} else if err != nil {
				t.Fatal(err)
			}
			if known := id != nil; known != test.known || why != test.why {
				t.Errorf("known %v, refused with %q; want %v and %q", known, why, test.known, test.why)
			}
			if id != nil && !id.May("anything") {
				t.Errorf("the identity of a key is %v, which lacks the scope anything; want one with every scope", id)
			}
			if told := fmt.Sprintf("%+v %v", id, err); strings.Contains(told, oldKey) || strings.Contains(told, newKey) {
				t.Errorf("got %s; want neither the key %q nor %q in it", told, oldKey, newKey)
			}
		})
	}
}

// Each key is a separate caller, which is the same for each call.
func TestPrincipals(t *testing.T) {
	gate, err := auth.Keys("weather", []string{oldKey, newKey})
	if err != nil {
		t.Fatal(err)
	}
	who := func(key string) string {
		id, err := gate.Authenticate(&http.Request{Header: http.Header{"X-Api-Token": {key}}})
		if err != nil {
			t.Fatal(err)
		}
		return id.Principal()
	}
	one, again, other := who(oldKey), who(oldKey), who(newKey)
	if one == other || one != again || one == "" {
		t.Errorf("the principals are %q, again %q, and of the other %q; want the first two equal, not empty, and the third different", one, again, other)
	}
}

// identify returns the caller with a key, or nil.
func identify(gate auth.Gate, key string) *auth.Identity {
	id, _ := gate.Authenticate(&http.Request{Header: http.Header{"X-Api-Token": {key}}})
	return id
}

// A key may have the name of its caller, which stays the same when the key is replaced. A key
// without a name may contain =.
func TestNamedKeys(t *testing.T) {
	const padded = "c2VjcmV0c2VjcmV0c2VjcmV0cw=="
	for _, test := range []struct{ listed, key, actor string }{
		{"alice=" + oldKey, oldKey, "alice"},
		{"b.o-b_2=" + padded, padded, "b.o-b_2"},
		{padded, padded, "key-"},
		{"alice=0123456789abcde", "alice=0123456789abcde", "key-"}, // a name needs 16 characters after it
		{"Alice=" + oldKey, "Alice=" + oldKey, "key-"},
		{"2=" + oldKey, "2=" + oldKey, "key-"},
	} {
		gate, err := auth.Keys("weather", []string{"other=fedcba9876543210", test.listed})
		if err != nil {
			t.Fatal(err)
		}
		id := identify(gate, test.key)
		if id == nil || !strings.HasPrefix(id.Actor(), test.actor) || !id.May("anything") || test.key != test.listed && identify(gate, test.listed) != nil {
			t.Errorf("%s: the caller is %+v, want %s", test.listed, id, test.actor)
		}
	}
	gate, err := auth.Keys("weather", []string{"alice=" + oldKey, "bob=0123456789abcdef", "alice=" + newKey})
	if err != nil {
		t.Fatal(err)
	}
	one, other, third := identify(gate, oldKey).Principal(), identify(gate, newKey).Principal(), identify(gate, "0123456789abcdef").Principal()
	if one != other {
		t.Errorf("the old key is of %s, the new one of %s; want the same principal", one, other)
	}
	if one == third {
		t.Errorf("the keys of two callers have the same principal %s, want different ones", one)
	}
	if got := fmt.Sprint(gate.Callers()); got != "[alice bob]" {
		t.Errorf(`the callers: got %q, want "[alice bob]"`, got)
	}
	for _, list := range [][]string{{"key-1=" + oldKey}, {"anonymous=" + oldKey}, {"alice=" + oldKey, "bob=" + oldKey}, {"alice=" + oldKey + " "}} {
		if gate, err := auth.Keys("weather", list); err == nil || gate != nil || strings.Contains(err.Error(), oldKey) {
			t.Errorf("Keys(%s) = %v, %v; want nil and an error without the key %s", list, gate, err, oldKey)
		}
	}
}

func TestWeakKeys(t *testing.T) {
	for _, test := range []struct {
		keys []string
		says string
	}{
		{[]string{""}, "the key has 0 characters"},
		{[]string{oldKey, ""}, "key 2 of 2 has 0 characters"},
		{[]string{"secret-15-chars"}, "has 15 characters, fewer than 16"},
		{[]string{oldKey + "\n"}, "white space"},
		{[]string{" " + oldKey}, "white space"},
		{[]string{oldKey + "\x00"}, "control characters"},
		{[]string{"schlüssel-schlüssel"}, "non-ASCII"},
	} {
		gate, err := auth.Keys("weather", test.keys)
		if gate != nil || err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "openssl rand -hex 32") {
			t.Errorf(`Keys(%q) = %v, %v; want nil and an error containing %q and "openssl rand -hex 32"`, test.keys, gate, err, test.says)
			continue
		}
		for _, key := range test.keys {
			if text := strings.TrimSpace(key); text != "" && strings.Contains(err.Error(), text) {
				t.Errorf("the error %v contains the key %q, want it left out", err, text)
			}
		}
	}
}

func TestChallenge(t *testing.T) {
	gate, err := auth.Keys(`a "b" \c`, []string{oldKey})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		why    string
		scopes []string
		want   string
	}{
		{"", nil, `Bearer realm="a \"b\" \\c"`},
		{"invalid_token", nil, `Bearer realm="a \"b\" \\c", error="invalid_token"`},
		{"insufficient_scope", []string{"a", "b"}, `Bearer realm="a \"b\" \\c", error="insufficient_scope", scope="a b"`},
	} {
		if got := gate.Challenge(test.why, test.scopes); got != test.want {
			t.Errorf("the challenge is %s, want %s", got, test.want)
		}
	}
	if got := gate.Credentials(); !strings.Contains(got, "X-Api-Token") {
		t.Errorf("Credentials() = %q, want it to name X-Api-Token", got)
	}
}

func BenchmarkKeys(b *testing.B) {
	gate, err := auth.Keys("weather", []string{oldKey, newKey})
	if err != nil {
		b.Fatal(err)
	}
	r := &http.Request{Header: http.Header{"Authorization": {"Bearer " + newKey}}}
	b.ReportAllocs()
	for b.Loop() {
		if id, err := gate.Authenticate(r); id == nil || err != nil {
			b.Fatalf("Authenticate() = %v, %v; want an identity and no error", id, err)
		}
	}
}

// The names of actors are unique among the kinds of callers.
func TestActor(t *testing.T) {
	for want, id := range map[string]auth.Identity{
		"ada":                       {Subject: "ada", Client: "app"},
		"app":                       {Client: "app"},
		"ada@https://b.example.com": {Subject: "ada", Name: "ada@https://b.example.com"},
	} {
		if got := id.Actor(); got != want {
			t.Errorf("the actor of %+v: got %q, want %q", id, got, want)
		}
	}
	for name, want := range map[string]bool{
		"ada": false, "ada@example.com": false, "auth0|5": false, "keys": false, "": false,
		"key-12345678": true, "local:ada": true, "worker:posts/digest": true, "client:app": true, "anonymous": true, "ada@https://b.example.com": true,
	} {
		if auth.IsReservedActor(name) != want {
			t.Errorf("%q is reserved: %t", name, !want)
		}
	}
}
