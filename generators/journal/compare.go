package journal

import "slices"

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
