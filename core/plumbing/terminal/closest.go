package terminal

import "strings"

// DidYouMean returns a question for the known word that is closest to an unknown one, or otherwise
// if none is close.
func DidYouMean(word string, known []string, otherwise string) string {
	if closest := Closest(word, known); closest != "" {
		return "did you mean " + closest + "?"
	}
	return otherwise
}

// Suggest returns "; did you mean NAME?" for the known word that is closest to an unknown one, or
// "" if none is close.
func Suggest(word string, known []string) string {
	if closest := Closest(word, known); closest != "" {
		return "; did you mean " + closest + "?"
	}
	return ""
}

// Closest returns the known word that a mistyped word may stand for: at most one letter in three,
// and two in all, is wrong, missing, added or swapped with the next. Case and the separators -, _
// and / do not count. Closest returns "" if no word is close.
func Closest(word string, known []string) (closest string) {
	plain := func(text string) []rune {
		return []rune(strings.NewReplacer("-", "_", "/", "_").Replace(strings.ToLower(text)))
	}
	const maxWord = 100 // longer words are not typing errors
	if len(word) > maxWord {
		return ""
	}
	typed := plain(word)
	least := min(2, len(typed)/3) + 1
	for _, other := range known {
		if d := distance(typed, plain(other)); d < least {
			closest, least = other, d
		}
	}
	return closest
}

// distance returns how many letters to change, add, remove or swap with the next to turn a into b.
func distance(a, b []rune) int {
	var before, last []int // the two previous rows
	for i := range len(a) + 1 {
		row := make([]int, len(b)+1)
		for j := range row {
			switch {
			case i == 0 || j == 0:
				row[j] = i + j
			case a[i-1] == b[j-1]:
				row[j] = last[j-1]
			case i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1]:
				row[j] = min(last[j], row[j-1], last[j-1], before[j-2]) + 1
			default:
				row[j] = min(last[j], row[j-1], last[j-1]) + 1
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
