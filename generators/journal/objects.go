package journal

import (
	"fmt"
)

// Contents returns the content with a hash from a [Record]; nil for an empty hash.
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

// keep saves content for Contents. Only the owner may read it, because the file may be private.
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
