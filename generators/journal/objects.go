package journal

import (
	"fmt"
)

// Contents returns what a file held, by the hash of that, which is in a [Record]. No hash is no
// file: nil.
func (j *Journal) Contents(hash string) ([]byte, error) {
	if hash == "" {
		return nil, nil
	}
	if !isHash(hash) {
		return nil, fmt.Errorf("%q is not a hash", hash)
	}
	name := objectsDir + "/" + hash
	data, err := j.root.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("what a file held is lost: %w; git may still know it", err)
	}
	if Hash(data) != hash {
		return nil, fmt.Errorf("what a file held is lost: %s was changed; git may still know it", name)
	}
	return data, nil
}

// keep puts what a file holds where Contents finds it. Only the owner may read it there:
// not every file is for everybody.
func (j *Journal) keep(data []byte, sync bool) error {
	if data == nil {
		return nil
	}
	hash := Hash(data)
	if _, err := j.Contents(hash); err == nil {
		return nil
	}
	return j.put(objectsDir+"/"+hash, data, 0o600, sync)
}

func isHash(text string) bool { return len(text) == 64 && isHex(text) }
