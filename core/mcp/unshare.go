package mcp

import "reflect"

// unshare makes v, a copy, share nothing with what it was copied from that JSON can be decoded
// into. What an interface holds is not among that, since decoding replaces it, nor are unexported fields.
func unshare(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.Tag.Get("json") != "-" {
				unshare(value) // even if unexported: an embedded struct lends its exported fields
			}
		}
		return
	case reflect.Array:
		for i := range v.Len() {
			unshare(v.Index(i))
		}
		return
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if !v.CanSet() || v.IsNil() {
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(unshared(v.Elem()).Addr())
	case reflect.Slice:
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			own.Index(i).Set(unshared(v.Index(i)))
		}
		v.Set(own)
	case reflect.Map:
		own := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			own.SetMapIndex(key, unshared(value))
		}
		v.Set(own)
	}
}

// unshared is a new variable that holds v and shares nothing with it.
func unshared(v reflect.Value) reflect.Value {
	own := reflect.New(v.Type()).Elem()
	own.Set(v)
	unshare(own)
	return own
}
