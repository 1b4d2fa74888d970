package strictjson

// mostKeys is how many keys of objects within each other are remembered by their place.
// The keys of larger objects are hashed.
const mostKeys = 32

// A span is a key's place in the input, quotes not included.
type span struct {
	start, end int
	escaped    bool
}

// A keyStack remembers the keys of the objects that are being read, the innermost on
// top. It lives on the stack and is cleared once for all of them.
type keyStack struct {
	keys [mostKeys]span
	n    int
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
	if k.many == nil && s.stack.n < mostKeys && s.stack.n-k.base < few {
		for _, have := range s.stack.keys[k.base:s.stack.n] {
			if s.sameKey(have, key) {
				return false
			}
		}
		s.stack.keys[s.stack.n] = key
		s.stack.n++
		return true
	}
	if k.many == nil {
		k.many = make(map[string]struct{}, 2*few)
		for _, have := range s.stack.keys[k.base:s.stack.n] {
			k.many[string(s.text(have))] = struct{}{}
		}
	}
	text := s.text(key)
	if _, ok := k.many[string(text)]; ok {
		return false
	}
	k.many[string(text)] = struct{}{}
	return true
}

func (s *scanner) sameKey(a, b span) bool {
	if a.escaped || b.escaped {
		return string(s.text(a)) == string(s.text(b))
	}
	return a.end-a.start == b.end-b.start && string(s.data[a.start:a.end]) == string(s.data[b.start:b.end])
}

// text is what a key says, unescaped.
func (s *scanner) text(key span) []byte {
	raw := s.data[key.start:key.end]
	if key.escaped {
		return appendUnescaped(nil, raw)
	}
	return raw
}
