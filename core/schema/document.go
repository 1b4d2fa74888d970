package schema

import (
	"strconv"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// A value is a part of a schema document, taken apart so that references can be
// followed through it and each keyword be named by its place.
type value struct {
	raw     []byte
	members []member // of an object
	items   []*value // of an array
}

type member struct {
	key   string
	value *value
}

// parse takes raw apart, which is one checked JSON value without space around it.
func parse(raw []byte) *value {
	v := &value{raw: raw}
	switch raw[0] {
	case '{':
		_ = strictjson.Object(raw, func(key, inner []byte) error {
			v.members = append(v.members, member{string(key), parse(inner)})
			return nil
		})
	case '[':
		_ = strictjson.Array(raw, func(inner []byte) error {
			v.items = append(v.items, parse(inner))
			return nil
		})
	}
	return v
}

// get returns the member called key, or nil.
func (v *value) get(key string) *value {
	for _, m := range v.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// lookup follows a JSON pointer such as /$defs/address and returns the value and its
// place, or nil. Percent signs are decoded already.
func (v *value) lookup(pointer string) (*value, strictjson.Path) {
	var path strictjson.Path
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = unescape.Replace(token)
		if v.raw[0] != '[' {
			if v = v.get(token); v == nil {
				return nil, ""
			}
			path = path.Key(token)
			continue
		}
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v.items) || strconv.Itoa(i) != token {
			return nil, ""
		}
		v, path = v.items[i], path.Index(i)
	}
	return v, path
}
