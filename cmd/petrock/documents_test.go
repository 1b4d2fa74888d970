package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	coreserve "github.com/petrock/petrock/core/serve"
	"github.com/petrock/petrock/generators/cli"
	"github.com/petrock/petrock/generators/docs"
	"github.com/petrock/petrock/generators/parts"
)

// code matches code in Markdown.
var code = regexp.MustCompile("`([^`]+)`")

// codeIn returns the code between two texts of a document.
func codeIn(t *testing.T, document, from, to string) (all []string) {
	t.Helper()
	_, rest, ok := strings.Cut(document, from)
	part, _, ended := strings.Cut(rest, to)
	if !ok || !ended {
		t.Fatalf("the document has no text between %q and %q, want some", from, to)
	}
	for _, match := range code.FindAllStringSubmatch(part, -1) {
		all = append(all, match[1])
	}
	return all
}

// firstColumn returns the code in the first column of a document's table.
func firstColumn(t *testing.T, document, heading string) (all []string) {
	t.Helper()
	_, table, ok := strings.Cut(document, heading+"\n|---|")
	if !ok {
		t.Fatalf("the document has no table %q, want one", heading)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.Lines(table) {
		for _, match := range code.FindAllStringSubmatch(strings.SplitAfterN(row, "|", 3)[1], -1) {
			all = append(all, match[1])
		}
	}
	return all
}

// compareSets reports what two lists do not have in common.
func compareSets(t *testing.T, what string, got, want []string) {
	t.Helper()
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s: got %q, want it to contain %q", what, got, name)
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("%s: got %q, want one of %q", what, name, want)
		}
	}
}

func installedRoot(t *testing.T) *cobra.Command {
	t.Helper()
	return newRoot(cli.Env{Err: io.Discard, Dir: t.TempDir(), Program: "petrock", Installed: true})
}

// trust.md lists the commands that the installed petrock hands over: those that accept --no-exec.
func TestTrustListsHandedOverCommands(t *testing.T) {
	page, _ := docs.Find("trust")
	var want []string
	for _, cmd := range installedRoot(t).Commands() {
		if cmd.Flags().Lookup("no-exec") != nil {
			want = append(want, cmd.Name())
		}
	}
	compareSets(t, "trust.md", codeIn(t, page.Text, "and runs it, for\n", ". That is code of the project."), want)
}

// The README's table names commands that exist, and the README names every command.
func TestReadmeNamesCommands(t *testing.T) {
	readme := readFile(t, "../../README.md")
	root := installedRoot(t)
	named := firstColumn(t, readme, "| command | what it does |")
	if len(named) < 20 {
		t.Errorf("README.md names the commands %q, want at least 20", named)
	}
	for _, text := range named {
		words := strings.Fields(strings.TrimPrefix(text, "petrock "))
		if cmd, _, err := root.Find(words[:1]); (err != nil || cmd == root) && words[0] != "help" && !isFlagOrKind(root, words[0]) {
			t.Errorf("README.md, commands: %s does not exist: %v", words[0], err)
		}
	}
	for _, cmd := range root.Commands() {
		if !regexp.MustCompile("petrock " + cmd.Name() + `\b|` + "`" + cmd.Name() + "`").MatchString(readme) {
			t.Errorf("README.md does not name petrock %s", cmd.Name())
		}
	}
}

// agents.md lists the tools of the installed petrock's dev server.
func TestAgentsListsTools(t *testing.T) {
	page, _ := docs.Find("agents")
	var want []string
	for _, tool := range serveMCP(t, t.TempDir(), "").Tools() {
		want = append(want, tool.Name)
	}
	_, tools, _ := strings.Cut(page.Text, "\n## Tools\n")
	compareSets(t, "agents.md", firstColumn(t, tools, "| tool | what it does |"), want)
}

// generators.md lists the parts.
func TestGeneratorsListsParts(t *testing.T) {
	page, _ := docs.Find("generators")
	compareSets(t, "generators.md", firstColumn(t, page.Text, "| part | what it is | added by |"), parts.Names())
}

// http.md lists the limits of serve, with their defaults.
func TestHTTPListsLimits(t *testing.T) {
	help, err := os.Create(filepath.Join(t.TempDir(), "help"))
	if err != nil {
		t.Fatal(err)
	}
	defer help.Close()
	config := coreserve.Config{Name: "hello", Wire: func() coreserve.Wiring { return coreserve.Wiring{} }}
	if code := coreserve.Run(t.Context(), config, []string{"serve", "--help"}, help, help); code != 0 {
		t.Fatalf("hello serve --help: exit code %d, want 0", code)
	}
	defaults := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^ +(--\S+) .*\(default (.+)\)$`).FindAllStringSubmatch(readFile(t, help.Name()), -1) {
		defaults[match[1]] = strings.Replace(match[2], "m0s", "m", 1)
	}
	page, _ := docs.Find("http")
	rows := regexp.MustCompile("(?m)^\\| `(--[a-z-]+)` \\| ([0-9]\\w*)").FindAllStringSubmatch(page.Text, -1)
	if len(rows) < 15 {
		t.Errorf("http.md has the limits %q, want at least 15", rows)
	}
	for _, row := range rows {
		if want := defaults[row[1]]; row[2] != want {
			t.Errorf("http.md: the default of %s is %s, want %s", row[1], row[2], want)
		}
	}
}

// isFlagOrKind reports whether a word continues an entry of the table: a flag, or a kind of
// component.
func isFlagOrKind(root *cobra.Command, word string) bool {
	generate, _, _ := root.Find([]string{"generate"})
	kind, _, _ := generate.Find([]string{word})
	return strings.HasPrefix(word, "-") || kind != generate
}

// The README links to every page, and the documents of a project list every topic.
func TestDocumentsListTopics(t *testing.T) {
	var topics []string
	for _, page := range docs.Pages() {
		topics = append(topics, page.Topic)
	}
	var linked []string
	for _, match := range regexp.MustCompile(`\]\(generators/docs/([a-z]+)\.md`).FindAllStringSubmatch(readFile(t, "../../README.md"), -1) {
		linked = append(linked, match[1])
	}
	compareSets(t, "links of README.md", linked, topics)
	for name, ends := range map[string][2]string{
		"README.md.tmpl": {"which is in `generators/docs`:\n", "."},
		"AGENTS.md.tmpl": {"`petrock://docs/TOPIC`: ", "\n\n"},
	} {
		text, err := os.ReadFile("../../templates/project/" + name)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, ok := strings.Cut(string(text), ends[0])
		list, _, _ := strings.Cut(rest, ends[1])
		if !ok {
			t.Fatalf("%s does not list the topics after %q, want them", name, ends[0])
		}
		compareSets(t, name, strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", \n", r) }), topics)
	}
}
