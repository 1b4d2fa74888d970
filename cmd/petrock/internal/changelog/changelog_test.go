package changelog

import (
	"reflect"
	"strings"
	"testing"
)

const sample = `# Changelog

Introduction.

## 0.3.0-dev

### Server

- **Security.** **Breaking.** Keys are
  checked.
- Faster.

### Command line

- New command.

## 0.2.0

The first
release.
`

func TestParse(t *testing.T) {
	got, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	want := []Release{
		{Version: "0.3.0-dev", Entries: []Entry{
			{Topic: "Server", Text: "Keys are checked.", Security: true, Breaking: true},
			{Topic: "Server", Text: "Faster."},
			{Topic: "Command line", Text: "New command."},
		}},
		{Version: "0.2.0", Entries: []Entry{{Text: "The first release."}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Parse(sample) = %+v, want %+v", got, want)
	}
	if got, want := got[0].Entries[0].String(), "**Security.** **Breaking.** Keys are checked."; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}

func TestParseRejects(t *testing.T) {
	for text, want := range map[string]string{
		"## next":                     `line 1: "next" is not a version`,
		"## 0.2.0\n\n## 0.3.0":        "line 3: 0.3.0 is not older than 0.2.0 above it",
		"## 0.2.0\n- text":            "line 2: the entry has no topic",
		"## 0.2.0\n### Server\nstray": `line 3: "stray" does not belong to an entry`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want an error with %q", text, err, want)
		}
	}
}

func TestSince(t *testing.T) {
	releases := []Release{{Version: "0.4.0"}, {Version: "0.3.0"}, {Version: "0.2.0"}}
	for version, want := range map[string]int{"0.4.0": 0, "0.3.1": 1, "0.3.0-dev": 2, "0.3.0": 1, "0.1.0": 3, "0.5.0": 0} {
		if got := Since(releases, version); len(got) != want {
			t.Errorf("Since(%s) = %v, want the first %d", version, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Fuzz(func(t *testing.T, text string) {
		releases, err := Parse(text)
		for _, r := range releases {
			if err != nil || r.Version == "" {
				t.Errorf("Parse(%q) = %+v, %v; want no error and releases with a version", text, releases, err)
			}
		}
	})
}
