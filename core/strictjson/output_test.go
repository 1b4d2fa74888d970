package strictjson

import (
	"reflect"
	"testing"
)

type (
	outItem struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}
	outInner struct {
		Inner []int `json:"inner"`
	}
	OutPointer struct {
		Behind []int `json:"behind"`
	}
	outEverything struct {
		outInner
		*OutPointer
		Items   []outItem          `json:"items"`
		ByName  map[string]outItem `json:"byName"`
		Pointer *outItem           `json:"pointer"`
		Array   [2]outItem         `json:"array"`
		Any     any                `json:"any"`
		Bytes   []byte             `json:"bytes"`
		Empty   []int              `json:"empty,omitempty"`
		Zero    map[string]int     `json:"zero,omitzero"`
		Hidden  []int              `json:"-"`
		Own     outOwn             `json:"own"`
		_       []int              // unexported
	}
	outOwn  struct{ List []int }
	outNode struct {
		Next  *outNode   `json:"next,omitempty"`
		Nodes []*outNode `json:"nodes"`
	}
	outPlain struct {
		A int
		B string
		C *float64
	}
)

func (outOwn) MarshalJSON() ([]byte, error) { return []byte(`{"own":null}`), nil }

func TestOutputEncoder(t *testing.T) {
	full := outEverything{
		OutPointer: &OutPointer{},
		Items:      []outItem{{Name: "a", Tags: []string{"x"}}, {Name: "b"}},
		ByName:     map[string]outItem{"c": {}},
		Pointer:    &outItem{},
		Any:        map[string]any{"list": []string(nil), "n": 1.5, "null": nil},
	}
	var e OutputEncoder
	for _, test := range []struct {
		v    any
		want string
	}{
		{nil, `null`},
		{[]int(nil), `[]`},
		{[]int{}, `[]`},
		{map[string]int(nil), `{}`},
		{[]byte(nil), `null`},
		{(*outItem)(nil), `null`},
		{&outItem{}, `{"name":"","tags":[]}`},
		{[][]int{nil, {1}}, `[[],[1]]`},
		{outPlain{}, `{"A":0,"B":"","C":null}`},
		{outNode{Next: &outNode{}}, `{"next":{"nodes":[]},"nodes":[]}`},
		{full, `{"inner":[],"behind":[],"items":[{"name":"a","tags":["x"]},{"name":"b","tags":[]}],"byName":{"c":{"name":"","tags":[]}},"pointer":{"name":"","tags":[]},"array":[{"name":"","tags":[]},{"name":"","tags":[]}],"any":{"list":[],"n":1.5,"null":null},"bytes":null,"own":{"own":null}}`},
	} {
		got, err := e.Encode(test.v)
		if err != nil || string(got) != test.want {
			t.Errorf("Encode(%#v) = %s, %v\nwant %s", test.v, got, err, test.want)
		}
	}
	if full.Items[1].Tags != nil || full.ByName["c"].Tags != nil || full.Pointer.Tags != nil || full.Behind != nil {
		t.Errorf("Encode changed its argument to %+v; want the tags of the second item, of c and of the pointer nil, and Behind nil", full)
	}
}

// A value that contains itself is an error, as in encoding/json, even if it branches.
func TestOutputEncoderCycle(t *testing.T) {
	n := &outNode{}
	n.Next, n.Nodes = n, []*outNode{n, n}
	if got, err := new(OutputEncoder).Encode(n); err == nil {
		t.Errorf("Encode(a cycle) = %s, want an error", got)
	}
}

// Types without lists are encoded without a look at their values.
func TestOutputEncoderSkipsTypesWithoutLists(t *testing.T) {
	var e OutputEncoder
	for _, v := range []any{1, "", outPlain{}, &outPlain{}, outOwn{}, []byte{}, [2]outPlain{}, struct{ private []int }{}} {
		if e.typeOf(reflect.TypeOf(v)) != nil {
			t.Errorf("typeOf(%T) = lists, want none", v)
		}
	}
}
