package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote decodes a JSON string with its quotes. It reports false if raw is not a string.
func Unquote(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	end, escaped, problem := scanString(raw, 0)
	if problem != "" || end != len(raw) {
		return "", false
	}
	if !escaped {
		return string(raw[1 : len(raw)-1]), true
	}
	return string(appendUnescaped(nil, raw[1:len(raw)-1])), true
}

// appendUnescaped appends in, the inside of a valid JSON string, without its escapes.
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
		r, _ := parseHex4(in[2:6])
		in = in[6:]
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if len(in) >= 6 && in[0] == '\\' && in[1] == 'u' {
				low, _ = parseHex4(in[2:6])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				in = in[6:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
}

func unescapeByte(c byte) byte {
	if i := strings.IndexByte("bfnrt", c); i >= 0 {
		return "\b\f\n\r\t"[i]
	}
	return c
}

func parseHex4(b []byte) (rune, bool) {
	r, err := strconv.ParseUint(string(b), 16, 16)
	return rune(r), err == nil
}

// scanString returns where the string that begins at data[i] ends, and whether it contains an
// escape. If the string is invalid, it returns the position of the problem. It processes eight
// bytes at a time.
func scanString(data []byte, i int) (end int, escaped bool, problem string) {
	const ones = 0x0101010101010101
	const high = 0x80 * ones
	for i++; ; {
		for ; len(data)-i >= 8; i += 8 {
			w := binary.LittleEndian.Uint64(data[i:])
			// Flipping bit 1 turns a quote into a space, and keeps control characters below a
			// space.
			quote, backslash := w^('"'-' ')*ones, w^'\\'*ones
			// The lowest high bit that is set marks the first byte that is special. Higher ones may
			// be wrong.
			if other := (w | (quote - (' '+1)*ones) | (backslash - ones)) & high; other != 0 {
				i += bits.TrailingZeros64(other) / 8
				break
			}
		}
		if i >= len(data) {
			return i, false, "unexpected end of input inside a string"
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1, escaped, ""
		case c == '\\':
			escaped = true
			n := escapeLen(data[i:])
			if n == 0 {
				return i, false, "invalid escape in a string"
			}
			i += n
		case c < ' ':
			return i, false, "control character in a string"
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n == 1 {
				return i, false, "invalid UTF-8 in a string"
			}
			i += n
		}
	}
}

// escapeLen returns the length of the escape at the start of b, or 0 if it is invalid.
func escapeLen(b []byte) int {
	if len(b) >= 2 && strings.IndexByte(`"\/bfnrt`, b[1]) >= 0 {
		return 2
	}
	if len(b) >= 6 && b[1] == 'u' {
		if _, ok := parseHex4(b[2:6]); ok {
			return 6
		}
	}
	return 0
}

// Clip returns text, or its first limit bytes and "…" if it is longer.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
