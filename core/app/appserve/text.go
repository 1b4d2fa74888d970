package appserve

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/petrock/petrock/core/terminal"
)

// examples are what help shows of a command.
func (d *Data) examples(lines ...string) string {
	return "  " + d.program + " " + strings.Join(lines, "\n  "+d.program+" ")
}

// short is a text of one line for a terminal: no more than most characters, and none that a terminal acts on.
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

// number is the number of an entry, as it is typed.
func number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, terminal.Usagef("%q is not the number of an entry: those are 1, 2, 3 and so on, as log shows them", text)
	}
	return n, nil
}

// printJSON writes a value as JSON that people can read too.
func printJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
