package gen

import (
	"strings"
	"unicode"
)

// WireName is the wire name of an exported Go identifier: the words of SendMail are send_mail.
//
//   - A capital after a small letter or a digit starts a word: V2Add is v2_add.
//   - The last of several capitals starts a word if a small letter follows: HTTPServer is
//     http_server.
//   - The s of a plural belongs to a common initialism: GetURLs is get_urls.
//   - Digits belong to the word before them: SHA256Sum is sha256_sum.
//   - Underscores separate words.
//
// Every identifier has a wire name; [CheckWireName] reports whether clients accept it.
func WireName(ident string) string { return fromWords(split(ident)).wire }

// split splits text into words, keeping their case. Characters other than letters and digits separate
// words.
func split(text string) []string {
	var words []string
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		words = append(words, splitCase([]rune(part))...)
	}
	return words
}

// splitCase splits letters and digits at changes of case.
func splitCase(part []rune) []string {
	var words []string
	start := 0
	cut := func(at int) {
		words = append(words, string(part[start:at]))
		start = at
	}
	for i := 1; i < len(part); i++ {
		switch before := unicode.IsUpper(part[i-1]); {
		case unicode.IsUpper(part[i]) && !before:
			cut(i)
		case unicode.IsLower(part[i]) && before && i-1 > start && !endsPlural(part, start, i):
			cut(i - 1)
		}
	}
	return append(words, string(part[start:]))
}

// endsPlural reports whether part[i] is the s of a plural such as URLs that starts at start.
func endsPlural(part []rune, start, i int) bool {
	ends := i+1 == len(part) || unicode.IsUpper(part[i+1])
	return part[i] == 's' && ends && isInitialism(strings.ToLower(string(part[start:i])))
}
