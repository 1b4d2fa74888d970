package strictjson

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"
)

type mood string

type base struct {
	ID   string `json:"id"`
	Kind string
}

type Meta struct {
	Tags []string `json:"tags"`
	Kind string   `json:"kind"`
}

type tree struct {
	base
	*Meta
	Name     string            `json:"name"`
	Small    int8              `json:"small"`
	Count    uint16            `json:"count,omitempty"`
	Ratio    float32           `json:"ratio"`
	On       *bool             `json:"on"`
	At       time.Time         `json:"at"`
	Wait     time.Duration     `json:"wait"`
	Mood     mood              `json:"mood"`
	Moods    map[mood][]mood   `json:"moods"`
	Raw      json.RawMessage   `json:"raw"`
	Any      any               `json:"any"`
	Num      json.Number       `json:"num"`
	Quoted   int               `json:"quoted,string"`
	Blob     []byte            `json:"blob"`
	Pair     [2]int            `json:"pair"`
	Attr     map[string]*int   `json:"attr"`
	ByNumber map[int]string    `json:"byNumber"`
	Children []tree            `json:"children"`
	Left     *tree             `json:"left"`
	Nested   map[string][]base `json:"nested"`
	Skipped  string            `json:"-"`
	hidden   string
}

const wholeTree = `{"id":"x","Kind":"k","tags":["a","b"],"kind":"m","name":"n\u00e9","small":-3,"count":7,"ratio":1.5,
"on":true,"at":"2026-07-28T10:00:00Z","wait":5,"mood":"good","moods":{"bad":["worse"]},"raw":{"a": 1},"any":{"A":[1,null]},"num":12345678901234567890,
"quoted":"12","blob":"aGk=","pair":[1,2],"attr":{"p":1,"q":null},"byNumber":{"7":"seven"},
"children":[{"name":"c1"},{"name":"c2","children":[]}],"left":{"left":{"name":"deep"}},"nested":{"z":[{"id":"i"}]},"unknown":[{}]}`

func TestUnmarshalAgreesWithEncodingJSON(t *testing.T) {
	for _, in := range []string{wholeTree, `{"hidden":"x","Skipped":"x"}`, `{}`, `{"on":null,"attr":null,"children":null,"name":null,"pair":[1],"any":null}`, ` {"pair":[1,2,3]} `} {
		var ours, std tree
		if err := Unmarshal([]byte(in), &ours); err != nil {
			t.Fatalf("Unmarshal(%s): %v", in, err)
		}
		if err := json.Unmarshal([]byte(in), &std); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(ours, std) || ours.hidden != "" {
			t.Errorf("Unmarshal(%s)\n got %+v\nwant %+v", in, ours, std)
		}
	}
}

func TestKeyOfTheWrongCaseFillsNothing(t *testing.T) {
	var v tree
	in := `{"Name":"a","NAME":"b","ID":"c","kınd":"d","left":{"NaMe":"e"},"children":[{"SMALL":1}],"nested":{"z":[{"Id":"f"}]}}`
	if err := Unmarshal([]byte(in), &v); err != nil {
		t.Fatal(err)
	}
	want := tree{Left: &tree{}, Children: []tree{{}}, Nested: map[string][]base{"z": {{}}}}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("v = %+v, want %+v", v, want)
	}
}

func TestWholeNumbersMayBeWrittenAsFloats(t *testing.T) {
	var v struct {
		I int   `json:"i"`
		U uint8 `json:"u"`
	}
	if err := Unmarshal([]byte(`{"i":-3e2,"u":7.0}`), &v); err != nil || v.I != -300 || v.U != 7 {
		t.Errorf("got %+v, %v; want no error, I -300 and U 7", v, err)
	}
}

func TestTypeErrorsNameThePath(t *testing.T) {
	tests := []struct{ in, want string }{
		{`[]`, "must be an object, got an array"},
		{`{"name":1}`, "name: must be a string, got a number"},
		{`{"small":300}`, "small: 300 does not fit in int8"},
		{`{"small":1.5}`, "small: 1.5 does not fit in int8"},
		{`{"small":"1"}`, "small: must be an integer, got a string"},
		{`{"count":-1}`, "count: -1 does not fit in uint16"},
		{`{"wait":9223372036854775808}`, "wait: 9223372036854775808 does not fit in time.Duration"},
		{`{"wait":1e400}`, "wait: 1e400 does not fit in time.Duration"},
		{`{"ratio":1e39}`, "ratio: 1e39 does not fit in float32"},
		{`{"ratio":{}}`, "ratio: must be a number, got an object"},
		{`{"on":"yes"}`, "on: must be a boolean, got a string"},
		{`{"blob":"%"}`, "blob: must be standard base64: illegal base64 data at input byte 0"},
		{`{"pair":{}}`, "pair: must be an array, got an object"},
		{`{"attr":{"p q":"x"}}`, `attr["p q"]: must be an integer, got a string`},
		{`{"byNumber":{"x":""}}`, "byNumber.x: the key does not fit in int"},
		{`{"children":[{},{"left":{"name":[]}}]}`, "children[1].left.name: must be a string, got an array"},
		{`{"quoted":12}`, "quoted: must be a string, got a number"},
		{`{"num":"1"}`, "num: must be a number, got a string"},
	}
	for _, test := range tests {
		var v tree
		err := Unmarshal([]byte(test.in), &v)
		var e *TypeError
		if !errors.As(err, &e) || err.Error() != test.want {
			t.Errorf("Unmarshal(%s)\n got %v\nwant %s", test.in, err, test.want)
		}
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	var v tree
	for _, in := range []string{``, `{`, `{"name":"a","name":"b"}`, `{"any":{"x":1,"x":2}}`, "{\"name\":\"\xff\"}"} {
		var e *Error
		if err := Unmarshal([]byte(in), &v); !errors.As(err, &e) {
			t.Errorf("Unmarshal(%q) = %v, want an *Error", in, err)
		}
	}
	if err := Unmarshal([]byte(`{}`), v); err == nil {
		t.Error("Unmarshal to a value that is no pointer = nil, want an error")
	}
	if err := Unmarshal([]byte(`{}`), (*tree)(nil)); err == nil {
		t.Error("Unmarshal to a nil pointer = nil, want an error")
	}
}

// encoding/json decodes to the same value, unless a key differs only in case.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(wholeTree))
	f.Add([]byte(`{"children":[{"left":{"on":false}}],"pair":[0],"small":127}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var ours tree
		if Unmarshal(data, &ours) != nil {
			return
		}
		again, err := json.Marshal(ours)
		if err != nil {
			return // such as a year that a time cannot be written with
		}
		var std, back tree
		if err := json.Unmarshal(again, &std); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if err := Unmarshal(again, &back); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if !reflect.DeepEqual(std, back) {
			t.Fatalf("%s is read by encoding/json as %+v, and by us as %+v; want the same", again, std, back)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	in := []byte(`{"A":17.25,"B":4}`)
	type pair struct{ A, B float64 }
	d := new(Decoder)
	b.ReportAllocs()
	for b.Loop() {
		var v pair
		if err := d.Decode(in, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeTree(b *testing.B) {
	d := new(Decoder)
	b.ReportAllocs()
	b.SetBytes(int64(len(wholeTree)))
	for b.Loop() {
		var v tree
		if err := d.Decode([]byte(wholeTree), &v); err != nil {
			b.Fatal(err)
		}
	}
}
