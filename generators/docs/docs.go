// Package docs holds petrock's documentation, one Markdown page for each topic. `petrock help
// TOPIC` prints a page, and the dev server offers it as the resource petrock://docs/TOPIC.
package docs

import (
	"embed"
	"strings"
)

//go:embed *.md
var files embed.FS

// URI begins the URIs of the pages as resources; the topic follows.
const URI = "petrock://docs/"

// A Page is the documentation of a topic.
type Page struct {
	Topic string
	Title string
	Text  string // Markdown
}

// Pages returns all pages in reading order.
func Pages() (pages []Page) {
	for _, topic := range []string{
		"tools", "fields", "directives", "testing", "editing", "features", "changing", "evolving", "workers",
		"http", "oauth", "clients", "deployment", "scaling", "agents", "undo", "generators", "trust",
	} {
		text, err := files.ReadFile(topic + ".md")
		if err != nil {
			panic(err) // the pages are embedded
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		pages = append(pages, Page{Topic: topic, Title: title, Text: string(text)})
	}
	return pages
}

// Find returns the page of a topic.
func Find(topic string) (Page, bool) {
	for _, page := range Pages() {
		if page.Topic == topic {
			return page, true
		}
	}
	return Page{}, false
}
