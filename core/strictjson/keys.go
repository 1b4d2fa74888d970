package strictjson

// smallObject is up to how many keys comparing each with each beats hashing them.
const smallObject = 16

// A keySet remembers the keys of one object. Its zero value is empty.
type keySet struct {
	few  [smallObject][]byte
	n    int
	many map[string]struct{}
}

// add reports whether key is new, and remembers it.
func (k *keySet) add(key []byte) bool {
	if k.many != nil {
		if _, ok := k.many[string(key)]; ok {
			return false
		}
		k.many[string(key)] = struct{}{}
		return true
	}
	for _, have := range k.few[:k.n] {
		if string(have) == string(key) {
			return false
		}
	}
	if k.n < smallObject {
		k.few[k.n] = key
		k.n++
		return true
	}
	k.many = make(map[string]struct{}, 2*smallObject)
	for _, have := range k.few {
		k.many[string(have)] = struct{}{}
	}
	k.many[string(key)] = struct{}{}
	return true
}
