// Package changelog reads petrock's changelog, a Markdown file with a section for each release:
//
//	## 0.3.0
//
//	### Server
//
//	- **Security.** Errors no longer name files.
package changelog

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// A Release is one version of petrock and what changed in it.
type Release struct {
	Version string  `json:"version"` // Such as 0.3.0
	Entries []Entry `json:"entries"`
}

// An Entry is one change that users notice.
type Entry struct {
	Topic    string `json:"topic,omitempty"`    // Such as Server; empty for the summary of a release
	Text     string `json:"text"`               // Markdown without its mark, on one line
	Security bool   `json:"security,omitempty"` // It fixes a vulnerability
	Breaking bool   `json:"breaking,omitempty"` // It requires a change to code, data or configuration
}

const (
	securityMark = "**Security.** "
	breakingMark = "**Breaking.** "
)

// String returns the entry as a line of the changelog.
func (e Entry) String() string {
	text := e.Text
	if e.Breaking {
		text = breakingMark + text
	}
	if e.Security {
		text = securityMark + text
	}
	return text
}

// Parse reads a changelog. It returns the releases in the order of the file, which must be from the
// newest to the oldest.
func Parse(text string) ([]Release, error) {
	var releases []Release
	topic, open := "", false // open: the next line may continue the last entry
	for i, line := range strings.Split(text, "\n") {
		fail := func(format string, args ...any) ([]Release, error) {
			return nil, fmt.Errorf("read changelog: line %d: %s", i+1, fmt.Sprintf(format, args...))
		}
		version, isRelease := strings.CutPrefix(line, "## ")
		heading, isTopic := strings.CutPrefix(line, "### ")
		item, isEntry := strings.CutPrefix(line, "- ")
		switch {
		case isRelease:
			if !semver.IsValid("v" + version) {
				return fail("%q is not a version", version)
			}
			if n := len(releases); n > 0 && semver.Compare("v"+version, "v"+releases[n-1].Version) >= 0 {
				return fail("%s is not older than %s above it", version, releases[n-1].Version)
			}
			releases, topic, open = append(releases, Release{Version: version}), "", false
		case len(releases) == 0: // the introduction
		case isTopic:
			topic, open = heading, false
		case isEntry && topic == "":
			return fail("the entry has no topic")
		case isEntry:
			last := &releases[len(releases)-1]
			last.Entries, open = append(last.Entries, newEntry(topic, item)), true
		case strings.TrimSpace(line) == "":
			open = false
		case open:
			entries := releases[len(releases)-1].Entries
			entries[len(entries)-1].Text += " " + strings.TrimSpace(line)
		case topic == "":
			last := &releases[len(releases)-1]
			last.Entries, open = append(last.Entries, Entry{Text: line}), true
		default:
			return fail("%q does not belong to an entry", line)
		}
	}
	return releases, nil
}

func newEntry(topic, text string) Entry {
	e := Entry{Topic: topic}
	text, e.Security = strings.CutPrefix(text, securityMark)
	e.Text, e.Breaking = strings.CutPrefix(text, breakingMark)
	return e
}

// Since returns the releases that are newer than a version.
func Since(releases []Release, version string) []Release {
	for i, r := range releases {
		if semver.Compare("v"+r.Version, "v"+version) <= 0 {
			return releases[:i]
		}
	}
	return releases
}
