package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/petrock/petrock/core/internal/jsonscan"
)

// walked are inputs in which the end of a value is hard to find.
func walked() []string {
	return []string{
		`{}`, `[]`, ` { } `, "\n[\t]\r\n", `{"a":1}`, `{"a":"\\"}`, `{"a":"\\\"","b":"\"}"}`, `["]","\\\\",["[\"",{}],-1.5e3,null]`,
		` { "a" : [ 1 , { "b" : "}" } ] , "c\u0064" : true , "" : "" } `, `[[],[[]],{"x":[]},"é\ud83d\ude00"]`, `[1,2 ,3]`, `"x"`, `null`, ` 12 `, wholeTree,
	}
}

// parts returns the arguments of the callback of walk.
func parts(data []byte, walk func([]byte, func(key, value []byte) error) error) (list []string, err error) {
	err = walk(data, func(key, value []byte) error {
		list = append(list, fmt.Sprintf("%q=%s", key, value))
		return nil
	})
	return list, err
}

func arrayParts(walk func([]byte, func([]byte) error) error) func([]byte, func(key, value []byte) error) error {
	return func(data []byte, part func(key, value []byte) error) error {
		return walk(data, func(value []byte) error { return part(nil, value) })
	}
}

// agreeOnParts checks that for valid JSON, the unchecked functions find the same parts.
func agreeOnParts(t testing.TB, data []byte) {
	if Check(data) != nil {
		return
	}
	for name, walks := range map[string][2]func([]byte, func(key, value []byte) error) error{
		"members":  {Object, Members},
		"elements": {arrayParts(Array), arrayParts(Elements)},
	} {
		want, wantErr := parts(data, walks[0])
		got, err := parts(data, walks[1])
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s of %s\n got %q, %v\nwant %q, %v", name, data, got, err, want, wantErr)
		}
	}
	if end := jsonscan.Skip(data, jsonscan.SkipSpace(data, 0)); len(bytes.TrimSpace(data[end:])) > 0 {
		t.Fatalf("Skip(%s) = %d, which leaves %q; want it to reach the end", data, end, bytes.TrimSpace(data[end:]))
	}
}

func TestPartsOfCheckedValues(t *testing.T) {
	for _, in := range walked() {
		agreeOnParts(t, []byte(in))
	}
}

func TestWalksEndWithAnError(t *testing.T) {
	stop := errors.New("stop")
	n := 0
	count := func() error { n++; return stop }
	if err := Members([]byte(`{"a":1,"b":2}`), func(_, _ []byte) error { return count() }); !errors.Is(err, stop) {
		t.Errorf("Members: got %v, want %v", err, stop)
	}
	if err := Elements([]byte(`[1,2]`), func([]byte) error { return count() }); !errors.Is(err, stop) || n != 2 {
		t.Errorf("Elements: %v, %d parts in all; want the error %v after 2 parts", err, n, stop)
	}
	var e *TypeError
	if err := Members([]byte(` [1]`), nil); !errors.As(err, &e) || e.Error() != "must be an object, got an array" {
		t.Errorf(`Members of an array: %v, want a *TypeError "must be an object, got an array"`, err)
	}
	if err := Elements([]byte(`null`), nil); !errors.As(err, &e) || e.Error() != "must be an array, got null" {
		t.Errorf(`Elements of null: %v, want a *TypeError "must be an array, got null"`, err)
	}
}

// A value decodes to the same result alone and as part of another value.
func agreeOnDecoding(t testing.TB, data []byte) {
	if Check(data) != nil {
		return
	}
	d := new(Decoder)
	var one tree
	err := d.Decode(data, &one)
	within := append(append([]byte(`{"x":[`), data...), `],"name":"n"}`...)
	if Check(within) != nil {
		return // nested too deeply
	}
	var list struct {
		X    []tree `json:"x"`
		Name string `json:"name"`
	}
	insideErr := new(Decoder).Decode(within, &list)
	if (insideErr == nil) != (err == nil) {
		t.Fatalf("%s: got the error %v, alone %v; want both or neither", within, insideErr, err)
	}
	if want := []tree{one}; err == nil && (list.Name != "n" || !reflect.DeepEqual(list.X, want)) {
		t.Fatalf("%s: got %+v, want name n and %+v", within, list, want)
	}
}

func TestDecodeParts(t *testing.T) {
	for _, in := range append(walked(), `{"name":1}`, `{"children":[{"name":"a"},{"small":300}]}`, `{"attr":{"a":1,"b":null}}`) {
		agreeOnDecoding(t, []byte(in))
	}
}

func FuzzParts(f *testing.F) {
	for _, seed := range walked() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		agreeOnParts(t, data)
		agreeOnDecoding(t, data)
	})
}
