package jsonscan

import "bytes"

// The functions in this file are for valid JSON. They may panic on other input.

// Ends are the positions where the first members of an object end, relative to its start. 0 means
// that the position is not known.
type Ends [4]int

// Members calls member for each member of an object, whose ends [Object] has found. It does not
// look into the values before these ends.
func Members(object []byte, ends *Ends, member func(key, value []byte) error) error {
	n := 0
	_, err := Walk(object, SkipSpace(object, 0), func(key []byte, at int) (int, error) {
		end := 0
		if n < len(ends) {
			end = ends[n]
		}
		if n++; end == 0 {
			end = Skip(object, at)
		}
		return end, member(key, object[at:end])
	})
	return err
}

// Member returns where the value of a member starts and ends, or 0 and 0 if the member does not
// exist or object is not an object.
func Member(object []byte, name string) (start, end int) {
	if First(object) != '{' {
		return 0, 0
	}
	_, _ = Walk(object, SkipSpace(object, 0), func(key []byte, at int) (int, error) {
		after := Skip(object, at)
		if string(key) == name {
			start, end = at, after
		}
		return after, nil
	})
	return start, end
}

// First returns the first byte of data that is not white space, or 0. data need not be valid.
func First(data []byte) byte {
	if i := SkipSpace(data, 0); i < len(data) {
		return data[i]
	}
	return 0
}

// Walk calls visit for each member or element of the valid object or array at data[i], with the
// key, or nil, and the position of the value. visit returns where the value ends.
func Walk(data []byte, i int, visit func(key []byte, at int) (int, error)) (int, error) {
	isObject := data[i] == '{'
	if i = SkipSpace(data, i+1); data[i] == '}' || data[i] == ']' {
		return i + 1, nil
	}
	for {
		var key []byte
		if isObject {
			end := skipString(data, i)
			key = data[i+1 : end-1]
			if bytes.IndexByte(key, '\\') >= 0 {
				key = appendUnescaped(nil, key)
			}
			i = SkipSpace(data, SkipSpace(data, end)+1) // after the colon
		}
		var err error
		if i, err = visit(key, i); err != nil {
			return i, err
		}
		if i = SkipSpace(data, i); data[i] != ',' {
			return i + 1, nil
		}
		i = SkipSpace(data, i+1)
	}
}

// Skip returns where the valid value at data[i] ends.
func Skip(data []byte, i int) int {
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		for depth := 0; ; {
			switch data[i] {
			case '"':
				i = skipString(data, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(data) && data[i] > ' ' && data[i] != ',' && data[i] != '}' && data[i] != ']' {
		i++
	}
	return i
}

func skipString(data []byte, i int) int {
	for start := i; ; {
		quote := bytes.IndexByte(data[i+1:], '"')
		if quote < 0 {
			return len(data) // invalid JSON
		}
		i += 1 + quote
		escapes := 0
		for i-1-escapes > start && data[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// SkipSpace returns the position of the first byte from i on that is not white space.
func SkipSpace(data []byte, i int) int {
	for i < len(data) && IsSpace(data[i]) {
		i++
	}
	return i
}

// IsSpace reports whether c is white space of JSON.
func IsSpace(c byte) bool {
	return c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t')
}
