package strictjson

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote returns the text of raw, a JSON string with its quotes. It reports
// false if raw is not one. Half a surrogate pair becomes U+FFFD, as in encoding/json.
func Unquote(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	end, escaped := scanString(raw, 0)
	if end != len(raw) {
		return "", false
	}
	if !escaped {
		return string(raw[1 : len(raw)-1]), true
	}
	return string(appendUnescaped(nil, raw[1:len(raw)-1])), true
}

// appendUnescaped appends the text of a string's inside, whose escapes are known to be good.
func appendUnescaped(dst, in []byte) []byte {
	for {
		i := bytes.IndexByte(in, '\\')
		if i < 0 {
			return append(dst, in...)
		}
		dst = append(dst, in[:i]...)
		in = in[i:]
		if in[1] != 'u' {
			dst = append(dst, unescapeByte(in[1]))
			in = in[2:]
			continue
		}
		r, _ := hex4(in[2:6])
		in = in[6:]
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if len(in) >= 6 && in[0] == '\\' && in[1] == 'u' {
				low, _ = hex4(in[2:6])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				in = in[6:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
}

func unescapeByte(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

func hex4(b []byte) (rune, bool) {
	var r rune
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// AppendString appends s to dst as a JSON string. It escapes only what JSON
// demands, and the two line separators that break JavaScript; invalid UTF-8
// becomes U+FFFD.
func AppendString[T ~string | ~[]byte](dst []byte, s T) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := decodeRune(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[start:i]...), `\ufffd`...)
				start = i + 1
			} else if r == '\u2028' || r == '\u2029' {
				dst = append(append(dst, s[start:i]...), `\u202`...)
				dst = append(dst, hex[r&0xf])
				start = i + n
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[c>>4], hex[c&0xf])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// quoteShort is text for an error message: quoted, and cut where it is long.
func quoteShort(text []byte) string {
	const most = 40
	if len(text) > most {
		return strconv.Quote(string(text[:most])) + "…"
	}
	return strconv.Quote(string(text))
}

// decodeRune returns the first rune of s, and how long it is.
func decodeRune[T ~string | ~[]byte](s T) (rune, int) {
	var first [utf8.UTFMax]byte
	return utf8.DecodeRune(first[:copy(first[:], s)])
}
