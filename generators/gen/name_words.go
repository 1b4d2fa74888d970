package gen

import (
	"strings"
	"unicode"
)

// WireName is the wire name of an exported Go identifier: the words of SendMail are send_mail.
//
//   - A capital begins a word behind a small letter or a digit: V2Add is v2_add.
//   - The last of several capitals begins a word if a small letter follows: HTTPServer is
//     http_server.
//   - The s of a plural belongs to a common initialism: GetURLs is get_urls.
//   - Digits belong to the word before them: SHA256Sum is sha256_sum.
//   - Underscores part words.
//
// Every identifier has a wire name; [CheckWire] says whether clients accept it.
func WireName(ident string) string { return fromWords(split(ident)).wire }

// split takes text apart into words, with the case that they have there. Whatever is neither
// letter nor digit parts words, and belongs to none.
func split(text string) []string {
	var words []string
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		words = append(words, splitCase([]rune(part))...)
	}
	return words
}

// splitCase takes letters and digits apart where their case says so.
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

// endsPlural reports whether part[i] is the s of a plural such as URLs, which begins at start.
func endsPlural(part []rune, start, i int) bool {
	ends := i+1 == len(part) || unicode.IsUpper(part[i+1])
	return part[i] == 's' && ends && isInitialism(strings.ToLower(string(part[start:i])))
}
