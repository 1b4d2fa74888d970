package terminal

import "strings"

// Suggest returns "; did you mean NAME?" for the name that is most similar to word, or "" if none
// is similar. Case does not count.
func Suggest(word string, names []string) (hint string) {
	const maxWord = 100 // longer words are no typing errors
	if len(word) > maxWord {
		return ""
	}
	least := min(len(word)/3, 2) + 2
	for _, name := range names {
		if n := edits(strings.ToLower(word), strings.ToLower(name)); n < least {
			hint, least = "; did you mean "+name+"?", n
		}
	}
	return hint
}

// edits returns the number of bytes to insert, remove, replace or swap to make b of a.
func edits(a, b string) int {
	rows := make([][]int, len(a)+1) // by bytes of a, then of b
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
