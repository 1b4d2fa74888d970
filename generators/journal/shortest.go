package journal

import "slices"

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
