package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/petrock/petrock/cmd/petrock/internal/changelog"
	"github.com/petrock/petrock/generators"
)

func TestChangelogNamesVersion(t *testing.T) {
	releases, err := changelog.Parse(changelogText)
	if err != nil {
		t.Fatal(err)
	}
	if got := releases[0].Version; got != generators.Version {
		t.Errorf("the newest release in CHANGELOG.md is %s, want generators.Version, %s", got, generators.Version)
	}
}

// TestTagNamesVersion compares the version with the tag of the commit, if it has one: the commit of
// a release sets both, and all other commits have a version that ends in -dev.
func TestTagNamesVersion(t *testing.T) {
	output, err := exec.Command("git", "tag", "--points-at", "HEAD", "--list", "v*").Output()
	if err != nil {
		t.Logf("git tag: %v; only the changelog is compared", err) // the sources may not be a git repository
		return
	}
	err = checkTags(strings.Fields(string(output)), generators.Version)
	if err != nil {
		t.Error(err)
	}
}

func TestCheckTags(t *testing.T) {
	for _, test := range []struct {
		tags    string
		version string
		ok      bool
	}{
		{"", "0.3.0-dev", true},
		{"", "0.3.0", true}, // the commit of a release, before it is tagged
		{"v0.3.0", "0.3.0", true},
		{"v0.3.0", "0.3.0-dev", false},
		{"v0.3.0", "0.4.0", false},
		{"v0.3.0-dev", "0.3.0-dev", false},
	} {
		if err := checkTags(strings.Fields(test.tags), test.version); (err == nil) != test.ok {
			t.Errorf("checkTags(%q, %s) = %v, want success: %t", test.tags, test.version, err, test.ok)
		}
	}
}

// checkTags returns an error if a commit with these tags must not have the version.
func checkTags(tags []string, version string) error {
	for _, tag := range tags {
		if tag != "v"+version || strings.HasSuffix(tag, "-dev") {
			return fmt.Errorf("the commit is tagged %s, but generators.Version is %s", tag, version)
		}
	}
	return nil
}
