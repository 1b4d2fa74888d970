package jsonschema

import (
	"encoding/json"
	"strconv"

	"github.com/petrock/petrock/core/strictjson"
)

// A part is a value in a schema document.
type part struct {
	name     string // key, or index in an array
	raw      []byte // without surrounding space
	path     strictjson.Path
	children []*part // members of an object, or items of an array
	node     *node   // set if the part is compiled as a schema
}

func newPart(name string, raw []byte, path strictjson.Path) *part {
	p := &part{name: name, raw: raw, path: path}
	switch kindOf(raw) {
	case objectKind:
		_ = strictjson.Members(raw, func(key, value []byte) error {
			p.children = append(p.children, newPart(string(key), value, path.Key(string(key))))
			return nil
		})
	case arrayKind:
		_ = strictjson.Elements(raw, func(item []byte) error {
			i := len(p.children)
			p.children = append(p.children, newPart(strconv.Itoa(i), item, path.Index(i)))
			return nil
		})
	}
	return p
}

func (p *part) child(name string) *part {
	for _, child := range p.children {
		if child.name == name {
			return child
		}
	}
	return nil
}

// items returns the items of an array, or nil.
func (p *part) items() (all []json.RawMessage) {
	for _, item := range p.children {
		all = append(all, item.raw)
	}
	return all
}
