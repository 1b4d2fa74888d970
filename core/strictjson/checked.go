package strictjson

import "bytes"

// Members calls member for each member of data in order, as [Object] does, but takes it for
// granted that data is one JSON value that [Check] accepts, such as a part that [Object] has
// handed out: it looks at no more than it needs to find its way, and on other input may panic.
// For a value that is no object it returns a [*TypeError].
func Members(data []byte, member func(key, value []byte) error) error {
	_, err := members(data, skipSpace(data, 0), func(key []byte, at int) (int, error) {
		end := skip(data, at)
		return end, member(key, data[at:end])
	})
	return err
}

// Elements calls element for each element of the array data in order. What [Members] says
// of its input and its error holds here too.
func Elements(data []byte, element func(value []byte) error) error {
	_, err := elements(data, skipSpace(data, 0), func(at int) (int, error) {
		end := skip(data, at)
		return end, element(data[at:end])
	})
	return err
}

// members walks the checked object at data[i]. member is given the key and the place of the
// value, and returns where that ends.
func members(data []byte, i int, member func(key []byte, at int) (int, error)) (int, error) {
	if data[i] != '{' {
		return i, mismatch("an object", data[i:])
	}
	if i = skipSpace(data, i+1); data[i] == '}' {
		return i + 1, nil
	}
	for {
		end := skipString(data, i)
		key := data[i+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = appendUnescaped(nil, key)
		}
		i = skipSpace(data, end) // the colon
		var err error
		if i, err = member(key, skipSpace(data, i+1)); err != nil {
			return i, err
		}
		if i = skipSpace(data, i); data[i] == '}' {
			return i + 1, nil
		}
		i = skipSpace(data, i+1)
	}
}

// elements walks the checked array at data[i].
func elements(data []byte, i int, element func(at int) (int, error)) (int, error) {
	if data[i] != '[' {
		return i, mismatch("an array", data[i:])
	}
	if i = skipSpace(data, i+1); data[i] == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = element(i); err != nil {
			return i, err
		}
		if i = skipSpace(data, i); data[i] == ']' {
			return i + 1, nil
		}
		i = skipSpace(data, i+1)
	}
}

// skip returns where the checked value at data[i] ends.
func skip(data []byte, i int) int {
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

// skipString returns where the checked string at data[i] ends.
func skipString(data []byte, i int) int {
	for start := i; ; {
		quote := bytes.IndexByte(data[i+1:], '"')
		if quote < 0 {
			return len(data) // it was not checked
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

func skipSpace(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

// textOf is what the checked string raw says.
func textOf(raw []byte) string {
	in := raw[1 : len(raw)-1]
	if bytes.IndexByte(in, '\\') < 0 {
		return string(in)
	}
	return string(appendUnescaped(nil, in))
}
