package strictjson

import "strconv"

// A Path says where in a value something stands, such as items[2].price. The
// empty path is the whole value.
type Path string

// Key is the path of the member called key.
func (p Path) Key(key string) Path {
	if !plain(key) {
		return p + Path("["+strconv.Quote(key)+"]")
	}
	if p == "" {
		return Path(key)
	}
	return p + "." + Path(key)
}

// Index is the path of the element at i.
func (p Path) Index(i int) Path {
	return p + Path("["+strconv.Itoa(i)+"]")
}

// Join is the path of rest, seen from the value that p leads to.
func (p Path) Join(rest string) string {
	if p == "" || rest == "" || rest[0] == '[' {
		return string(p) + rest
	}
	return string(p) + "." + rest
}

// plain reports whether a key can stand in a path without quotes.
func plain(key string) bool {
	for i, c := range key {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == '$':
		case i > 0 && ('0' <= c && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return key != ""
}
