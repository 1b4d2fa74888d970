package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/petrock/petrock/generators/docs"
)

var (
	start = regexp.MustCompile("^# [A-Z].*\n\n(?:[A-Z`].*\n)(?:.+\n)*\n```console\n\\$ ")
	link  = regexp.MustCompile(`\]\(([^)]+)\)`)
	code  = regexp.MustCompile("(?ms)^```.*?^```$")
)

// Every page starts with a title, a sentence and an example. TestDocs in cmd/petrock runs the
// examples, which are the console blocks.
func TestPages(t *testing.T) {
	var topics []string
	for _, page := range docs.Pages() {
		topics = append(topics, page.Topic+".md")
		if !start.MatchString(page.Text) {
			t.Errorf("the page %s starts with %.100q, want it to match %s", page.Topic, page.Text, start)
		}
		checkLines(t, page)
		for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(page.Text, ""), -1) {
			if !strings.Contains(found[1], "://") && !resolves(found[1], page) {
				t.Errorf("%s.md: broken link %s", page.Topic, found[1])
			}
		}
	}
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(topics)
	if !slices.Equal(files, topics) {
		t.Errorf("pages: got %q, want %q", files, topics)
	}
}

// resolves reports whether a link leads to a page and, after #, to a heading of it.
func resolves(link string, from docs.Page) bool {
	file, anchor, _ := strings.Cut(link, "#")
	text := []byte(from.Text)
	if file != "" {
		var err error
		if text, err = os.ReadFile(file); err != nil {
			return false
		}
	}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllSubmatch(text, -1) {
		letters := regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(string(heading[1])), "")
		if strings.ReplaceAll(letters, " ", "-") == anchor {
			return true
		}
	}
	return anchor == ""
}

// checkLines checks the width of prose, and that each Go block names its file, so that a test
// writes it.
func checkLines(t *testing.T, page docs.Page) {
	t.Helper()
	inCode, number := false, 0
	for line := range strings.Lines(page.Text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if language, ok := strings.CutPrefix(line, "```"); ok {
			inCode = !inCode
			if language == "go" || inCode && language == "" {
				t.Errorf("%s.md:%d: the block has the language %q; name the language, and the file of Go code", page.Topic, number, language)
			}
		} else if !inCode && !strings.HasPrefix(line, "|") && utf8.RuneCountInString(line) > 100 {
			t.Errorf("%s.md:%d has %d columns, want at most 100: %s", page.Topic, number, utf8.RuneCountInString(line), line)
		}
	}
	if inCode {
		t.Errorf("%s.md: the last block does not end", page.Topic)
	}
}

func TestFind(t *testing.T) {
	if page, ok := docs.Find("tools"); !ok || page.Topic != "tools" || !strings.HasPrefix(page.Text, "# "+page.Title+"\n") {
		t.Errorf("Find(tools) = %+v, %t; want the page tools, which starts with its title", page, ok)
	}
	if _, ok := docs.Find("nothing"); ok {
		t.Error("Find(nothing) returns a page, want none")
	}
}
