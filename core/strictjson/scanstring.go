package strictjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// scanString returns where the string that begins at data[i] ends, or failed, and
// whether it holds an escape. It looks at eight bytes at a time.
func scanString(data []byte, i int) (end int, escaped bool) {
	const ones = 0x0101010101010101
	const high = 0x80 * ones
	for i++; ; {
		for ; len(data)-i >= 8; i += 8 {
			w := binary.LittleEndian.Uint64(data[i:])
			// Flipping the bit of 2 makes the quote a space and leaves control characters below it.
			quote, backslash := w^('"'-' ')*ones, w^'\\'*ones
			// The high bit of each byte that does not stand for itself; above the lowest of
			// them, there may be more.
			if other := (w | (quote - (' '+1)*ones) | (backslash - ones)) & high; other != 0 {
				i += bits.TrailingZeros64(other) / 8
				break
			}
		}
		if i >= len(data) {
			return failed, false
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			escaped = true
			n := escapeLen(data[i:])
			if n == 0 {
				return failed, false
			}
			i += n
		case c < ' ':
			return failed, false
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n == 1 {
				return failed, false
			}
			i += n
		}
	}
}

// explain fails for what is wrong with the string that begins at i.
func (s *scanner) explain(i int) int {
	for i++; i < len(s.data); {
		r, n := utf8.DecodeRune(s.data[i:])
		switch {
		case r == '\\':
			if n = escapeLen(s.data[i:]); n == 0 {
				return s.fault(i, "invalid escape in a string")
			}
		case r < ' ':
			return s.fault(i, "control character in a string")
		case r == utf8.RuneError && n == 1:
			return s.fault(i, "invalid UTF-8 in a string")
		}
		i += n
	}
	return s.unexpected(i, "inside a string")
}

// escapeLen is the length of the escape that b begins with, 0 if it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		if _, ok := hex4(b[2:6]); !ok {
			return 0
		}
		return 6
	}
	return 0
}
