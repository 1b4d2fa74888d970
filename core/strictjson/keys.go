package strictjson

import "bytes"

// mostKeys is how many keys of objects within each other are remembered by their place.
// The keys of larger objects are hashed.
const mostKeys = 32

// A span is a key's place in the input, quotes not included.
type span struct{ start, end int }

// A keyStack remembers the keys of the objects that are being read, the innermost on
// top. It lives on the stack and is cleared once for all of them.
type keyStack struct {
	keys    [mostKeys]span
	n       int
	escapes bool // some key is written with an escape
}

// A keySet is the keys of one object: those above base, or many.
type keySet struct {
	base int
	many map[string]struct{}
}

func (s *scanner) openKeys() keySet { return keySet{base: s.stack.n} }

func (s *scanner) closeKeys(k keySet) { s.stack.n = k.base }

// addKey reports whether a key is new to the object, and remembers it.
func (s *scanner) addKey(k *keySet, key span) bool {
	const few = 8 // up to so many, comparing each with each beats hashing
	text := s.text(key)
	have := s.stack.keys[k.base:s.stack.n]
	if k.many == nil && s.stack.n < mostKeys && len(have) < few {
		for _, other := range have {
			alike := other.end-other.start == key.end-key.start || s.stack.escapes
			if alike && string(s.text(other)) == string(text) {
				return false
			}
		}
		s.stack.keys[s.stack.n] = key
		s.stack.n++
		return true
	}
	if k.many == nil {
		k.many = make(map[string]struct{}, 2*few)
		for _, other := range have {
			k.many[string(s.text(other))] = struct{}{}
		}
	}
	if _, ok := k.many[string(text)]; ok {
		return false
	}
	k.many[string(text)] = struct{}{}
	return true
}

// text is what a key says, unescaped.
func (s *scanner) text(key span) []byte {
	raw := s.data[key.start:key.end]
	if s.stack.escapes && bytes.IndexByte(raw, '\\') >= 0 {
		return appendUnescaped(nil, raw)
	}
	return raw
}
