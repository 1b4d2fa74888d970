package mcp

import "github.com/petrock/petrock/core/strictjson"

// An object is a JSON object that is being written, member by member. What every client asks for
// at its start is written this way: for package encoding/json to get going takes longer than
// all the rest of a server's first answers. Its zero value has no members.
type object []byte

// raw adds a member whose value is JSON already, unless it is nil.
func (o *object) raw(key string, value []byte) {
	if value == nil {
		return
	}
	*o = appendMember(*o, key, value)
}

// text adds a member that is a string.
func (o *object) text(key, value string) {
	o.raw(key, strictjson.AppendString(nil, value))
}

// optional adds a member that is a string, unless it is empty.
func (o *object) optional(key, value string) {
	if value != "" {
		o.text(key, value)
	}
}

// any adds a member of any type.
func (o *object) any(key string, value any) error {
	raw, err := strictjson.Marshal(value)
	if err == nil {
		o.raw(key, raw)
	}
	return err
}

// appendTo appends the object to dst.
func (o object) appendTo(dst []byte) []byte {
	return append(append(append(dst, '{'), o...), '}')
}

// appendMember appends a member of an object, with a comma before it unless it is the first.
func appendMember(dst []byte, key string, value []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != ',' && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(strictjson.AppendString(dst, key), ':')
	return append(dst, value...)
}
