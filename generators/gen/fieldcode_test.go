package gen_test

import (
	"testing"

	"github.com/petrock/petrock/generators/gen"
)

func TestDocSentence(t *testing.T) {
	for description, want := range map[string]string{
		"Name is what it is.":         "Name is what it is.",
		"Sends a mail.":               "Name sends a mail.",
		"Send a mail.":                "Name: send a mail.",
		"Process a mail.":             "Name: process a mail.",
		"How it is set up.":           "Name: how it is set up.",
		"A ticket with its comments.": "Name is a ticket with its comments.",
		"The text of a note.":         "Name is the text of a note.",
		"An hour":                     "Name is an hour",
		"All open tickets.":           "Name is all open tickets.",
		"Another day":                 "Name: another day",
		"URLs of a site.":             "Name: URLs of a site.",
		"A":                           "Name is a",
		"":                            "",
	} {
		if got := gen.DocSentence("Name", description); got != want {
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
