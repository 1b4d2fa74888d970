// Package wire parses parts of JSON-RPC messages without decoding them.
package wire

import "bytes"

var idKey = []byte(`"id":`)

// ID returns the begin and the end of the value of the first "id" in a line. There must be no space
// after the colon. The id must be an integer, or a string without backslashes. ok is false for a
// line without id, such as a notification.
func ID(line []byte) (begin, end int, ok bool) {
	i := bytes.Index(line, idKey)
	if i < 0 {
		return 0, 0, false
	}
	begin = i + len(idKey)
	end = begin
	if end < len(line) && line[end] == '"' {
		n := bytes.IndexByte(line[end+1:], '"')
		if n < 0 {
			return 0, 0, false
		}
		return begin, end + n + 2, true
	}
	for end < len(line) && (line[end] == '-' || '0' <= line[end] && line[end] <= '9') {
		end++
	}
	return begin, end, end > begin
}

// Number parses an integer that is not negative and below 10^18.
func Number(digits []byte) (n int, ok bool) {
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
