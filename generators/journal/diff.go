package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Change is a file before and after an operation. Content nil means that the file does not exist;
// an empty file has empty, non-nil content.
type Change struct {
	Path    string      // from the project's root, with slashes
	Before  []byte      // nil if the file does not exist
	After   []byte      // nil if the file is deleted
	Mode    fs.FileMode // permissions of a created file; 0 means 0644
	Derived bool        // whether it is a derived file
}

// An Action is the kind of a change.
type Action string

// The actions. None is for a file that does not change.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
	None   Action = "none"
)

// Action returns the kind of the change.
func (f Change) Action() Action {
	switch {
	case f.Before == nil && f.After == nil:
		return None
	case f.Before == nil:
		return Create
	case f.After == nil:
		return Delete
	case bytes.Equal(f.Before, f.After):
		return None
	}
	return Update
}

// Hash returns the SHA-256 of a file's content in hexadecimal. It is empty for nil: the file does
// not exist.
func Hash(data []byte) string {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// SortChanges sorts changes by path. The sort is stable.
func SortChanges(files []Change) {
	slices.SortStableFunc(files, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
}

// An edit replaces lines a[fromA:toA] of one text by lines b[fromB:toB] of another. One of the two
// ranges may be empty.
type edit struct {
	fromA, toA int
	fromB, toB int
}

// compare returns the edits that turn a into b, in order. No two of them are adjacent. It splits
// the texts at lines that are unique in both, as a patience diff does. A section between them
// becomes one edit, less its common prefix and suffix.
func compare(a, b []string) (edits []edit) {
	var e edit
	for _, next := range append(anchors(a, b), [2]int{len(a), len(b)}) {
		e.toA, e.toB = next[0], next[1]
		for e.fromA < e.toA && e.fromB < e.toB && a[e.fromA] == b[e.fromB] {
			e.fromA, e.fromB = e.fromA+1, e.fromB+1
		}
		for e.fromA < e.toA && e.fromB < e.toB && a[e.toA-1] == b[e.toB-1] {
			e.toA, e.toB = e.toA-1, e.toB-1
		}
		if e.fromA < e.toA || e.fromB < e.toB {
			edits = append(edits, e)
		}
		e.fromA, e.fromB = next[0]+1, next[1]+1
	}
	slide(a, b, edits)
	return edits
}

// slide moves pure insertions and deletions as far down as possible without changing the result, so
// that the insertion of a function begins with its first line, not with the end of the previous
// one.
func slide(a, b []string, edits []edit) {
	for i := range edits {
		e, end := &edits[i], len(a)
		if i+1 < len(edits) {
			end = edits[i+1].fromA - 1 // keep edits separate
		}
		for e.toA < end && (e.fromA == e.toA && b[e.fromB] == b[e.toB] || e.fromB == e.toB && a[e.fromA] == a[e.toA]) {
			*e = edit{e.fromA + 1, e.toA + 1, e.fromB + 1, e.toB + 1}
		}
	}
}

// anchors returns pairs of indexes, in order, of lines that occur exactly once in a and in b. If
// lines changed their order, it returns the largest set of pairs that keeps it.
func anchors(a, b []string) [][2]int {
	inA, inB, indexB := map[string]int{}, map[string]int{}, map[string]int{}
	for _, line := range a {
		inA[line]++
	}
	for i, line := range b {
		inB[line]++
		indexB[line] = i
	}
	var unique [][2]int
	for i, line := range a {
		if inA[line] == 1 && inB[line] == 1 {
			unique = append(unique, [2]int{i, indexB[line]})
		}
	}
	return longestIncreasing(unique)
}

// longestIncreasing returns the longest subsequence of pairs whose second numbers increase.
func longestIncreasing(pairs [][2]int) [][2]int {
	var ends []int // ends[n] is the last pair of the best subsequence of length n+1: the one with the lowest end
	previous := make([]int, len(pairs))
	for i, pair := range pairs {
		n, _ := slices.BinarySearchFunc(ends, pair[1], func(end, second int) int { return pairs[end][1] - second })
		previous[i] = -1
		if n > 0 {
			previous[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	var found [][2]int
	for i := ends[len(ends)-1]; i >= 0; i = previous[i] {
		found = append(found, pairs[i])
	}
	slices.Reverse(found)
	return found
}

const contextLines = 3

// Diff returns the change as a unified diff with three lines of context, for patch and git apply.
// It is empty if the file does not change. Binary content is not shown.
func (f Change) Diff() string {
	if f.Action() == None {
		return ""
	}
	var out strings.Builder
	out.WriteString("--- " + headerName("a/", f.Path, f.Before) + "\n")
	out.WriteString("+++ " + headerName("b/", f.Path, f.After) + "\n")
	if !isText(f.Before) || !isText(f.After) {
		out.WriteString("Binary files differ\n")
		return out.String()
	}
	before, after := slices.Collect(strings.Lines(string(f.Before))), slices.Collect(strings.Lines(string(f.After)))
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

// headerName returns a file's name for the header of a diff, quoted if it has special characters.
func headerName(prefix, path string, data []byte) string {
	if data == nil {
		return "/dev/null"
	}
	name := prefix + path
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '"' || r == '\\' }) {
		return strconv.Quote(name)
	}
	if strings.Contains(name, " ") {
		name += "\t" // marks the end of the name, as git does
	}
	return name
}

func isText(data []byte) bool {
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}

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

// span formats the lines of a hunk: the first, counted from one, and their number. An empty span
// names the line before it.
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
