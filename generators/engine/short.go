package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/typecheck"
)

// A Shortener is a result with a short form: without diffs, hashes, schemas and whole files. The
// short form has at most most entries of each list and shortens long texts; 0 means that it has all
// of them.
type Shortener interface{ Short(most int) any }

// A Cutter shortens lists and texts, and counts what it leaves out.
type Cutter struct {
	Most    int
	leftOut []string
}

// Cut returns the first entries of a list.
func Cut[T any](c *Cutter, list []T, what string) []T {
	if c.Most == 0 || len(list) <= c.Most {
		return list
	}
	c.leftOut = append(c.leftOut, count(len(list)-c.Most, what))
	return list[:c.Most:c.Most]
}

// Text returns the beginning of a text, which is shorter if Most is smaller.
func (c *Cutter) Text(text string) string {
	if c.Most == 0 {
		return text
	}
	return cutText(text, 150+50*c.Most)
}

// cutText returns at most the first bytes of a text.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// Diagnostics returns the first diagnostics, with shortened texts.
func (c *Cutter) Diagnostics(list []typecheck.Diagnostic, what string) []typecheck.Diagnostic {
	list = slices.Clone(Cut(c, list, what))
	for i, d := range list {
		if list[i].Message = c.Text(d.Message); d.File != "" {
			list[i].Package = "" // the file names it
		}
		if c.Text(d.Lines) != d.Lines {
			list[i].Lines = "" // the message has the position
		}
	}
	return list
}

// Files returns the first files, without diffs and hashes.
func (c *Cutter) Files(files []FileChange) []FileChange {
	var short []FileChange
	for _, f := range Cut(c, files, "file") {
		short = append(short, FileChange{Path: f.Path, Action: f.Action, Derived: f.Derived})
	}
	return short
}

// LeftOut says what was left out, and how to get it.
func (c *Cutter) LeftOut() string {
	if len(c.leftOut) == 0 {
		return ""
	}
	return fmt.Sprintf("Left out: %s. Set detail to get everything.", strings.Join(c.leftOut, ", "))
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func joinFew(words []string) string {
	const maxListed = 8
	if len(words) > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:maxListed], ", "), len(words)-maxListed)
	}
	return strings.Join(words, ", ")
}

func joinOrNone(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }

// writeLines writes the entries of a list, one a line.
func writeLines[T any](out *strings.Builder, prefix string, list []T) {
	for _, entry := range list {
		fmt.Fprintf(out, "%s%v\n", prefix, entry)
	}
}

func page[T any](list []T, offset, limit int) []T {
	first := min(max(offset, 0), len(list))
	return list[first:min(first+max(limit, 1), len(list))]
}

// writePage writes which entries of a list are shown, and how to get the next ones.
func writePage(out *strings.Builder, shown, offset, total int, what string) {
	switch next := offset + shown; {
	case total == 0:
		fmt.Fprintf(out, "There is no %s.\n", what)
	case shown == 0:
		fmt.Fprintf(out, "There are %s; offset %d is past the end.\n", count(total, what), offset)
	case next < total:
		fmt.Fprintf(out, "%d to %d of %s; pass offset: %d to get the next ones.\n", offset+1, next, count(total, what), next)
	case offset > 0:
		fmt.Fprintf(out, "%d to %d of %s.\n", offset+1, next, count(total, what))
	}
}
