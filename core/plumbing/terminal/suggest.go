package terminal

import "strings"

// Suggest returns "; did you mean NAME?" for the name that is most similar to word, or "" if none
// is similar. Case does not count.
func Suggest(word string, names []string) (hint string) {
	const maxWord = 100 // longer words are no typing errors
	least := min(len(word)/3, 2) + 2
	for _, name := range names {
		if n := edits(strings.ToLower(word), strings.ToLower(name)); len(word) <= maxWord && n < least {
			hint, least = "; did you mean "+name+"?", n
		}
	}
	return hint
}

// edits returns the number of bytes to insert, remove or replace to make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1) // for each start of b, with the start of a so far
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			if a[i] != b[j] {
				diagonal = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], diagonal
		}
	}
	return row[len(b)]
}
