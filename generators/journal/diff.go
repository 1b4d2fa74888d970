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

// A Change is a file before and after an operation. Content nil means that the file does not exist; an
// empty file has empty, non-nil content.
type Change struct {
	Path    string      // from the project's root, with slashes
	Before  []byte      // nil if it does not exist
	After   []byte      // nil if it is deleted
	Mode    fs.FileMode // permissions of a created file; 0 means 0644
	Derived bool        // it is a derived file
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

// Hash returns the SHA-256 of a file's content in hexadecimal; empty for nil, which is no file.
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

// An edit replaces the lines fromA to toA of one text by the lines fromB to toB of another. One of the
// two may be none.
type edit struct {
	fromA, toA int
	fromB, toB int
}

// How much work comparing is worth. Both keep it from growing with the square of the lines.
const (
	maxEdits = 256 // lines taken out and put in, between two places where the texts are known to agree
	maxDepth = 24  // how often such places are looked for between such places
)

// compare returns the edits that make b of a, in order. No two touch.
func compare(a, b []string) []edit {
	numbers := map[string]int{}
	number := func(lines []string) []int {
		all := make([]int, len(lines))
		for i, line := range lines {
			n, ok := numbers[line]
			if !ok {
				n = len(numbers)
				numbers[line] = n
			}
			all[i] = n
		}
		return all
	}
	c := comparison{a: number(a), b: number(b)}
	c.compare(edit{0, len(a), 0, len(b)}, maxDepth)
	c.slide()
	return c.edits
}

// A comparison is two texts, a number for each line, and what was found of their edits.
type comparison struct {
	a, b  []int
	edits []edit
}

// compare finds the edits within one part of the texts, which are behind those that are found
// already. Small changes are found by their shortest edits. Larger ones are cut at lines that
// are unique in both texts, and where none are, the whole part is one edit.
func (c *comparison) compare(part edit, depth int) {
	for part.fromA < part.toA && part.fromB < part.toB && c.a[part.fromA] == c.b[part.fromB] {
		part.fromA++
		part.fromB++
	}
	for part.fromA < part.toA && part.fromB < part.toB && c.a[part.toA-1] == c.b[part.toB-1] {
		part.toA--
		part.toB--
	}
	if part.fromA == part.toA || part.fromB == part.toB {
		c.add(part)
		return
	}
	a, b := c.a[part.fromA:part.toA], c.b[part.fromB:part.toB]
	if path, ok := shortest(a, b); ok {
		for _, e := range path {
			c.add(edit{part.fromA + e.fromA, part.fromA + e.toA, part.fromB + e.fromB, part.fromB + e.toB})
		}
		return
	}
	var pairs [][2]int
	if depth > 0 {
		pairs = anchors(a, b)
	}
	if len(pairs) == 0 {
		c.add(part)
		return
	}
	from := edit{fromA: part.fromA, fromB: part.fromB}
	for _, pair := range pairs {
		from.toA, from.toB = part.fromA+pair[0], part.fromB+pair[1]
		c.compare(from, depth-1)
		from.fromA, from.fromB = from.toA+1, from.toB+1
	}
	from.toA, from.toB = part.toA, part.toB
	c.compare(from, depth-1)
}

// add appends an edit, or makes the last one longer if the two touch.
func (c *comparison) add(e edit) {
	if e.fromA == e.toA && e.fromB == e.toB {
		return
	}
	if n := len(c.edits); n > 0 && c.edits[n-1].toA == e.fromA && c.edits[n-1].toB == e.fromB {
		c.edits[n-1].toA, c.edits[n-1].toB = e.toA, e.toB
		return
	}
	c.edits = append(c.edits, e)
}

// slide moves lines that are only taken out or only put in as far down as they can go without
// another meaning: so a function that is new begins with its name, and not with the end of the
// one above.
func (c *comparison) slide() {
	for i := range c.edits {
		e, end := &c.edits[i], len(c.a)
		if i+1 < len(c.edits) {
			end = c.edits[i+1].fromA - 1 // they stay apart
		}
		for e.toA < end && (e.fromA == e.toA && c.b[e.fromB] == c.b[e.toB] || e.fromB == e.toB && c.a[e.fromA] == c.a[e.toA]) {
			*e = edit{e.fromA + 1, e.toA + 1, e.fromB + 1, e.toB + 1}
		}
	}
}

// anchors returns places, in order, at which a and b have the same line, one that both have once.
// Of lines that have changed places, it leaves out as few as it can.
func anchors(a, b []int) [][2]int {
	type seen struct{ inA, inB, atA, atB int }
	all := map[int]*seen{}
	at := func(line int) *seen {
		if all[line] == nil {
			all[line] = &seen{}
		}
		return all[line]
	}
	for i, line := range a {
		s := at(line)
		s.inA++
		s.atA = i
	}
	for i, line := range b {
		s := at(line)
		s.inB++
		s.atB = i
	}
	var unique [][2]int
	for _, line := range a {
		if s := all[line]; s.inA == 1 && s.inB == 1 {
			unique = append(unique, [2]int{s.atA, s.atB})
		}
	}
	return rising(unique)
}

// rising returns the longest part of pairs in which the second numbers rise. The first do already.
func rising(pairs [][2]int) [][2]int {
	var ends []int // of the parts of each length, the pair that ends the one that ends lowest
	previous := make([]int, len(pairs))
	for i, pair := range pairs {
		n, _ := slices.BinarySearchFunc(ends, pair[1], func(end, place int) int { return pairs[end][1] - place })
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

// contextLines is the number of lines around a change in a diff.
const contextLines = 3

// Diff returns the change as a unified diff with three lines of context, for patch and git apply. It is
// empty if the file does not change. Binary content is not shown. The diff is minimal except for large
// changes, which are compared coarsely to save time.
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

// side returns the name of one side of a diff, quoted if it has special characters.
func side(prefix, path string, data []byte) string {
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

func lines(data []byte) []string {
	all := strings.SplitAfter(string(data), "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
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

// span formats the lines of a hunk: the first, counted from one, and their number. An empty span names
// the line before it.
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

// shortest returns the fewest edits that make b of a, unless those take out and put in more than
// maxEdits lines. Each takes out or puts in one line.
//
// It is the greedy search of Myers: of all ways with the same number of lines taken out and put
// in, it follows those that lead furthest on each diagonal, k, which is how far a is ahead of b.
func shortest(a, b []int) ([]edit, bool) {
	const middle = maxEdits + 1
	var furthest [2*maxEdits + 3]int // how far in a, on the diagonal k, at middle+k
	var history [][]int              // what furthest was before each round, from diagonal -d to d
	for d := 0; d <= maxEdits; d++ {
		history = append(history, slices.Clone(furthest[middle-d:middle+d+1]))
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || k != d && furthest[middle+k-1] < furthest[middle+k+1] {
				x = furthest[middle+k+1]
			} else {
				x = furthest[middle+k-1] + 1
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			furthest[middle+k] = x
			if x >= len(a) && x-k >= len(b) {
				return wayBack(history, len(a), len(b)), true
			}
		}
	}
	return nil, false
}

// wayBack reads the edits off what the search has passed, from the end to the beginning.
func wayBack(history [][]int, x, y int) []edit {
	var edits []edit
	for d := len(history) - 1; d > 0; d-- {
		at := func(k int) int { return history[d][d+k] }
		k := x - y
		e := edit{}
		if k == -d || k != d && at(k-1) < at(k+1) {
			e.fromA = at(k + 1)
			e.fromB = e.fromA - (k + 1)
			e.toA, e.toB = e.fromA, e.fromB+1
		} else {
			e.fromA = at(k - 1)
			e.fromB = e.fromA - (k - 1)
			e.toA, e.toB = e.fromA+1, e.fromB
		}
		x, y = e.fromA, e.fromB
		edits = append(edits, e)
	}
	slices.Reverse(edits)
	return edits
}
