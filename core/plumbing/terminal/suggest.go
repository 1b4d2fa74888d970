package terminal

import (
	"slices"
	"strings"
)

// Suggest returns "; did you mean NAME?" for the name that is most similar to word, or "" if none
// is similar. Case, and the characters - and _, do not count.
func Suggest(word string, names []string) string {
	plain := strings.NewReplacer("-", "", "_", "")
	fold := func(text string) string { return plain.Replace(strings.ToLower(text)) }
	const maxWord = 100 // longer words are no typing errors
	if len(word) > maxWord {
		return ""
	}
	best, least := "", 1+max(1, min(len(word)/3, 3)) // edits
	for _, name := range slices.Sorted(slices.Values(names)) {
		if n := edits(fold(word), fold(name)); n < least {
			best, least = name, n
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// edits returns the number of bytes to insert, remove, replace or swap to make b of a.
func edits(a, b string) int {
	rows := make([][]int, len(a)+1) // rows[i][j] is the result for a[:i] and b[:j]
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1])
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
				}
			}
		}
	}
	return rows[len(a)][len(b)]
}
