package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/derive"
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
	option := "detail: true"
	if c.Most == 0 { // on the command line
		option = "--detail"
	}
	return fmt.Sprintf("Left out: %s. Pass %s to get everything.", strings.Join(c.leftOut, ", "), option)
}

// Short returns the short form of the result.
func (r *Result) Short(most int) any {
	c := &Cutter{Most: most}
	s := *r
	s.ToolsList = nil
	s.Files = c.Files(r.Files)
	s.Components = nil
	s.Parts = slices.Clone(r.Parts)
	for i := range s.Parts {
		s.Parts[i].Modules = nil
	}
	s.Notices, s.Next = Cut(c, r.Notices, "notice"), Cut(c, r.Next, "next step")
	s.Diagnostics = c.Diagnostics(r.Diagnostics, "existing error")
	s.Refused = c.Diagnostics(r.Refused, "error")
	s.Impure = c.Diagnostics(r.Impure, "impure function")
	s.Warnings = c.Diagnostics(r.Warnings, "warning")
	if r.Trial != nil {
		tried := *r.Trial
		tried.Passed, tried.Printed = Cut(c, tried.Passed, "passed example"), c.Text(tried.Printed)
		s.Trial = &tried
	}
	if r.Tests != nil {
		s.Tests = r.Tests.short(c)
	}
	s.LeftOut = c.LeftOut()
	return &s
}

// Short returns the short form of the fault.
func (f *Fault) Short(most int) any {
	c := &Cutter{Most: most}
	s := *f
	s.Message = c.Text(f.Message)
	if f.Refusal != nil {
		s.Refusal = f.Refusal.short(c)
		if f.Message == f.Refusal.Error() || f.Message == f.Refusal.Reason {
			s.Message = s.Refusal.Reason // the refusal has the rest
		}
	}
	return &s
}

func (r *Refusal) short(c *Cutter) *Refusal {
	s := *r
	s.Reason = c.Text(r.Reason)
	s.Conflicts = Cut(c, r.Conflicts, "conflict")
	s.Diagnostics = c.Diagnostics(r.Diagnostics, "error")
	s.Declares = c.Text(r.Declares)
	s.Failures = slices.Clone(Cut(c, r.Failures, "failed example"))
	for i := range s.Failures {
		s.Failures[i].Message = c.Text(s.Failures[i].Message)
		if input := s.Failures[i].Input; len(c.Text(string(input))) != len(input) {
			s.Failures[i].Input = nil
		}
		s.Failures[i].Output = nil // the message has it
	}
	s.Tests = c.tests(r.Tests)
	s.Printed = c.Text(r.Printed)
	s.Files = c.Files(r.Files)
	if slices.ContainsFunc(r.Files, func(f FileChange) bool { return f.Diff != "" }) {
		c.leftOut = append(c.leftOut, "diffs")
	}
	s.LeftOut = c.LeftOut()
	return &s
}

// Short returns the short form of the listing: kinds, names, files and the first lines of
// descriptions.
func (l *Listing) Short(most int) any {
	c := &Cutter{Most: most}
	s := *l
	s.Parts, s.Components = nil, nil
	for _, part := range Cut(c, l.Components, "component") {
		about, _, _ := strings.Cut(part.Description, "\n")
		s.Components = append(s.Components, derive.Component{Kind: part.Kind, Name: part.Name, Description: about, File: part.File, Line: part.Line, URI: part.URI})
	}
	s.Refused = c.Diagnostics(l.Refused, "error")
	return &s
}

// String lists the components, one a line.
func (l *Listing) String() string {
	var out strings.Builder
	for _, c := range l.Components {
		name := c.Name
		if c.URI != "" {
			name += " (" + c.URI + ")"
		}
		fmt.Fprintf(&out, "%s %s, %s:%d: %s\n", c.Kind, name, c.File, c.Line, c.Description)
	}
	writePage(&out, len(l.Components), l.Offset, l.Total, "component")
	writeLines(&out, "error: ", l.Refused)
	if l.ToolsList != nil {
		fmt.Fprintln(&out, l.ToolsList)
	}
	return out.String()
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

// Page returns the listing with the components of a kind, or of all kinds, from an offset.
func (l *Listing) Page(kind string, offset, limit int) *Listing {
	s := *l
	s.Components = slices.Clone(l.Components)
	if kind != "" {
		s.Components = slices.DeleteFunc(s.Components, func(c derive.Component) bool { return string(c.Kind) != kind })
	}
	s.Total, s.Offset = len(s.Components), offset
	s.Components = page(s.Components, offset, limit)
	return &s
}

func page[T any](list []T, offset, limit int) []T {
	first := min(max(offset, 0), len(list))
	return list[first:min(first+max(limit, 1), len(list))]
}

// Page returns the history with the newest operations first, from an offset.
func (h *History) Page(offset, limit int) *History {
	s := *h
	s.Operations = slices.Clone(h.Operations)
	slices.Reverse(s.Operations)
	s.Total, s.Offset = len(s.Operations), offset
	s.Operations = page(s.Operations, offset, limit)
	return &s
}

// Short returns the short form of the history: operations without their files.
func (h *History) Short(most int) any {
	c := &Cutter{Most: most}
	s := *h
	s.Operations = slices.Clone(Cut(c, h.Operations, "operation"))
	for i := range s.Operations {
		s.Operations[i].Files = nil
	}
	return &s
}

// String lists the operations, one a line.
func (h *History) String() string {
	var out strings.Builder
	if h.Recovered != "" {
		fmt.Fprintln(&out, h.Recovered)
	}
	for _, op := range h.Operations {
		fmt.Fprintf(&out, "%s %s %s", op.ID, op.Time.UTC().Format("2006-01-02T15:04Z"), op.Title)
		if op.UndoneBy != "" {
			fmt.Fprintf(&out, " (undone by %s)", op.UndoneBy)
		}
		out.WriteByte('\n')
	}
	writePage(&out, len(h.Operations), h.Offset, h.Total, "operation")
	return out.String()
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
