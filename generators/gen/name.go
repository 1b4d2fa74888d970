package gen

import (
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Name is a component's name, split into words. Names made of the same words are equal. The zero
// Name has no words; [ParseName] never returns it without an error.
//
//	name, err := gen.ParseName("sendHTTPRequest")
//	name.Wire()       // send_http_request
//	name.Go()         // SendHTTPRequest
//	name.File("tool") // send_http_request.go
//	name.Human()      // send HTTP request
//
// All of them are plain ASCII and safe to put into source code, whatever the input was.
type Name struct {
	wire string // the words in lower case, joined by _
}

// Wire is the name that clients see: send_mail. [ParseName] gives the same name for it.
func (n Name) Wire() string { return n.wire }

// Go is an exported identifier: SendMail. Common initialisms such as ID and URL are in capitals
// if [FromGo] finds the words again; otherwise no initialism is.
func (n Name) Go() string {
	if name := n.join("", capitals); WireName(name) == n.wire {
		return name
	}
	return n.join("", Capitalize)
}

// Exact reports whether [FromGo] finds the wire name in the identifier. Where it does not, as
// for a_b_c, which is ABC, the wire name has to be written down beside the identifier.
func (n Name) Exact() bool { return WireName(n.Go()) == n.wire }

// Human is the name in plain words, for descriptions: "send mail", "get user ID".
func (n Name) Human() string {
	return n.join(" ", func(word string) string {
		if isInitialism(word) || isPlural(word) {
			return capitals(word)
		}
		return word
	})
}

// words are the parts of the name, in lower case.
func (n Name) words() []string {
	if n.wire == "" {
		return nil
	}
	return strings.Split(n.wire, "_")
}

func (n Name) join(separator string, form func(word string) string) string {
	words := n.words()
	for i, word := range words {
		words[i] = form(word)
	}
	return strings.Join(words, separator)
}

// capitals is a word as it stands in an identifier, initialisms as Go writes them.
func capitals(word string) string {
	switch {
	case isInitialism(word):
		return strings.ToUpper(word)
	case isPlural(word):
		return strings.ToUpper(word[:len(word)-1]) + "s"
	}
	return Capitalize(word)
}

// Capitalize returns the text with its first letter in upper case.
func Capitalize(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// fromWords is the name that the words make.
func fromWords(words []string) Name { return Name{wire: strings.ToLower(strings.Join(words, "_"))} }

// valid reports whether the name is an identifier once it is in Go.
func (n Name) valid() bool { return token.IsIdentifier(n.Go()) && token.IsExported(n.Go()) }
