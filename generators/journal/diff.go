package journal

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// contextLines is how many lines around a change a diff shows.
const contextLines = 3

// Diff is the change of the file as a unified diff, with three lines of context, which patch
// and git apply understand. It is empty if the file stays as it is. Content that is not text is
// not shown.
//
// The diff is always right, and it is the shortest for all but large changes: those are
// compared coarsely, so that it takes no time to speak of.
func (f Change) Diff() string {
	if f.Action() == None {
		return ""
	}
	var out strings.Builder
	out.WriteString("--- " + side("a/", f.Path, f.Before) + "\n")
	out.WriteString("+++ " + side("b/", f.Path, f.After) + "\n")
	if !isText(f.Before) || !isText(f.After) {
		out.WriteString("Binary files differ\n")
		return out.String()
	}
	before, after := lines(f.Before), lines(f.After)
	edits := compare(before, after)
	for len(edits) > 0 {
		n := 1
		for n < len(edits) && edits[n].fromA-edits[n-1].toA <= 2*contextLines {
			n++
		}
		writeHunk(&out, before, after, edits[:n])
		edits = edits[n:]
	}
	return out.String()
}

// side is the name of one side of a diff. A name that could be taken for more than a name is quoted.
func side(prefix, path string, data []byte) string {
	if data == nil {
		return "/dev/null"
	}
	name := prefix + path
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '"' || r == '\\' }) {
		return strconv.Quote(name)
	}
	if strings.Contains(name, " ") {
		name += "\t" // this is how git says where a name ends
	}
	return name
}

func isText(data []byte) bool {
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}

// lines are the lines of a text, each with its end. The last one may have none.
func lines(data []byte) []string {
	all := strings.SplitAfter(string(data), "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// writeHunk writes edits that are near each other, with the lines around them.
func writeHunk(out *strings.Builder, before, after []string, edits []edit) {
	first, last := edits[0], edits[len(edits)-1]
	lead := min(contextLines, first.fromA)
	trail := min(contextLines, len(before)-last.toA)
	a := first.fromA - lead
	out.WriteString("@@ -" + span(a, last.toA+trail) + " +" + span(first.fromB-lead, last.toB+trail) + " @@\n")
	for _, e := range edits {
		writeLines(out, ' ', before[a:e.fromA])
		writeLines(out, '-', before[e.fromA:e.toA])
		writeLines(out, '+', after[e.fromB:e.toB])
		a = e.toA
	}
	writeLines(out, ' ', before[a:a+trail])
}

// span says which lines a hunk is about: the first, counted from one, and how many. Of no lines,
// it is the one before.
func span(from, to int) string {
	switch to - from {
	case 0:
		return strconv.Itoa(from) + ",0"
	case 1:
		return strconv.Itoa(from + 1)
	}
	return strconv.Itoa(from+1) + "," + strconv.Itoa(to-from)
}

func writeLines(out *strings.Builder, mark byte, lines []string) {
	for _, line := range lines {
		out.WriteByte(mark)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
