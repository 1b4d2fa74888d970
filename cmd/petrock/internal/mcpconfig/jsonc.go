package mcpconfig

import "bytes"

// blankComments returns JSON for JSON with comments: text with a space for each byte of a comment, of a comma before a closing
// bracket, and of a byte order mark. Line breaks stay, and so does everything else: what stands at an offset of the one stands at
// the same offset of the other. JSON without any of them is returned as it is, and text is never written to.
//
// It is no check: what is no JSON before is none after, a comment without an end included.
func blankComments(text []byte) []byte {
	out := bytes.Clone(text)
	comma := -1 // a comma that nothing but space and comments has followed
	for i := blankMark(out); i < len(out); {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			i = stringEnd(out, i)
		case c == '/':
			end := commentEnd(out, i)
			if end == i {
				comma = -1
				i++
				continue
			}
			blank(out[i:end])
			i = end
		case c == ',':
			if i++; comma < 0 {
				comma = i - 1
				continue
			}
			comma = -1 // two in a row are wrong, and stay
		case c == '}' || c == ']':
			if comma >= 0 && closes(out[:comma]) {
				out[comma] = ' '
			}
			comma = -1
			i++
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		default:
			comma = -1
			i++
		}
	}
	return out
}

// closes reports whether a comma behind text follows a value: one behind an opening bracket, a colon or another comma does not.
func closes(text []byte) bool {
	text = bytes.TrimRight(text, " \t\r\n")
	return len(text) > 0 && !bytes.ContainsRune([]byte("{[:,"), rune(text[len(text)-1]))
}

// blankMark blanks the byte order mark that out may begin with, and returns where the text begins.
func blankMark(out []byte) int {
	mark := []byte("\xef\xbb\xbf")
	if !bytes.HasPrefix(out, mark) {
		return 0
	}
	blank(out[:len(mark)])
	return len(mark)
}

// stringEnd returns where the JSON string that begins at i ends.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// commentEnd returns where the comment that begins at i ends, or i if none does, or it has no end.
func commentEnd(text []byte, i int) int {
	switch rest := text[i:]; {
	case bytes.HasPrefix(rest, []byte("//")):
		if n := bytes.IndexAny(rest, "\r\n"); n >= 0 {
			return i + n
		}
		return len(text)
	case bytes.HasPrefix(rest, []byte("/*")):
		if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
			return i + 2 + n + 2
		}
	}
	return i
}

// blank puts spaces for all of part but line breaks.
func blank(part []byte) {
	for i, c := range part {
		if c != '\n' && c != '\r' {
			part[i] = ' '
		}
	}
}
