package appserve

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/petrock/petrock/core/terminal"
)

// examples returns example lines for help.
func (d *Data) examples(lines ...string) string {
	return "  " + d.program + " " + strings.Join(lines, "\n  "+d.program+" ")
}

// short returns a line of at most most characters, without control characters.
func short(text string, most int) string {
	runes := []rune(text)
	cut := len(runes) > most
	if cut {
		runes = runes[:most-1]
	}
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = '\uFFFD'
		}
	}
	if cut {
		return string(runes) + "…"
	}
	return string(runes)
}

// number parses the number of an entry.
func number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, terminal.Usagef("%q is not the number of an entry: those are 1, 2, 3 and so on, as log shows them", text)
	}
	return n, nil
}
