package gen_test

import (
	"testing"

	"github.com/petrock/petrock/generators/gen"
)

func TestDocSentence(t *testing.T) {
	for description, want := range map[string]string{
		"Sends a mail.":               "sends a mail.",
		"A ticket with its comments.": "is a ticket with its comments.",
		"The text of a note.":         "is the text of a note.",
		"An hour":                     "is an hour",
		"All open tickets.":           "is all open tickets.",
		"Another day":                 "another day",
		"URLs of a site.":             "URLs of a site.",
		"A":                           "is a",
		"":                            "",
	} {
		if got := gen.DocSentence(description); got != want {
			t.Errorf("%q: got %q, want %q", description, got, want)
		}
	}
}

func TestInitialisms(t *testing.T) {
	for text, want := range map[string]string{"vpn_outage": "VPNOutage", "list_vpns": "ListVPNs"} {
		name, err := gen.ParseName(text)
		if err != nil || name.Go() != want || name.Wire() != text {
			t.Errorf("%s: got %s, %s, %v; want %s, %s and no error", text, name.Go(), name.Wire(), err, want, text)
		}
	}
}
