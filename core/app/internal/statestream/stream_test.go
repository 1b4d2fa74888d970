package statestream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// everyKind has a field of every kind that [Check] allows.
type everyKind struct {
	Embedded
	Bool     bool
	Int      int `json:"int"`
	Int8     int8
	Int64    int64 `json:",string"`
	Uint     uint
	Uint16   uint16 `json:",omitempty"`
	Float32  float32
	Float64  float64 `json:"float,omitzero"`
	String   string  `json:"a key with <spaces> & more"`
	Named    named
	Bytes    []byte
	Time     time.Time
	Raw      json.RawMessage
	Level    level
	Box      box
	Pointer  *int `json:",omitempty"`
	Double   **string
	Self     *everyKind
	Array    [3]string
	Arrays   [2][]int
	List     []string `json:",omitempty"`
	Lists    [][]byte
	Structs  []Embedded
	Pointers []*Embedded
	Trees    []everyKind
	Map      map[string]int
	Named2   map[named]*Embedded
	ByInt    map[int8]string
	ByUint   map[uint64][]string
	ByLevel  map[level]Embedded
	Maps     map[string]map[string][]int
	Deep     map[string]everyKind
	Indirect withPointer
}

type Embedded struct {
	Word  string
	Tags  []string `json:"tags"`
	Notes map[string]string
}

type withPointer struct {
	*Promoted
	More []string
}

type Promoted struct{ Inner []int }

type named string

// level has methods for text.
type level int

func (l level) MarshalText() ([]byte, error) { return []byte(strings.Repeat("+", int(l))), nil }
func (l *level) UnmarshalText(text []byte) error {
	*l = level(len(text))
	return nil
}

// box has methods for JSON.
type box struct{ n int }

func (b box) MarshalJSON() ([]byte, error) { return json.Marshal([]int{b.n, b.n}) }
func (b *box) UnmarshalJSON(text []byte) error {
	var list []int
	err := json.Unmarshal(text, &list)
	b.n = list[0]
	return err
}

// A filler fills values at random.
type filler struct {
	*rand.Rand
	most int // elements of a list
}

func (r filler) text() string {
	words := []string{"", "word", "ümlaut", "a \"quoted\" \\ text", "line\nbreak\x00", "<html> & \u2028", strings.Repeat("long ", r.IntN(40))}
	return words[r.IntN(len(words))]
}

func (r filler) fill(v reflect.Value, depth int) {
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.UnixMicro(r.Int64N(1 << 50)).UTC()))
		return
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"raw":[1,2.50,null]}`))
		return
	case reflect.TypeFor[box]():
		v.Set(reflect.ValueOf(box{r.IntN(100)}))
		return
	case reflect.TypeFor[level]():
		v.SetInt(r.Int64N(20))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.String:
		v.SetString(r.text())
	case reflect.Pointer:
		if depth > 0 && r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			r.fill(v.Elem(), depth-1)
		}
	case reflect.Array:
		for i := range v.Len() {
			r.fill(v.Index(i), depth-1)
		}
	case reflect.Slice:
		if r.IntN(4) == 0 || depth < 0 || v.Type().Elem().Kind() == reflect.Struct && depth == 0 {
			return // nil
		}
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(r.most), r.most))
		for i := range v.Len() {
			r.fill(v.Index(i), depth-1)
		}
	case reflect.Map:
		if r.IntN(4) == 0 || depth < 0 {
			return // nil
		}
		v.Set(reflect.MakeMap(v.Type()))
		for i := range r.IntN(r.most) {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			if r.fill(key, 0); key.Kind() == reflect.String {
				key.SetString(key.String() + fmt.Sprint(i))
			}
			r.fill(elem, depth-1)
			v.SetMapIndex(key, elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			r.fill(v.Field(i), depth-1)
		}
	default:
		switch {
		case v.CanInt():
			v.SetInt(int64(int8(r.Uint64())))
		case v.CanUint():
			v.SetUint(uint64(uint8(r.Uint64())))
		case v.CanFloat():
			v.SetFloat(float64(r.IntN(1000)) / 8)
		}
	}
}

// newEveryKind returns a random state, which JSON does not change.
func newEveryKind(t *testing.T, seed uint64, most, depth int) *everyKind {
	t.Helper()
	random, state := new(everyKind), new(everyKind)
	filler{rand.New(rand.NewPCG(seed, 1)), most}.fill(reflect.ValueOf(random).Elem(), depth)
	text, err := strictjson.Marshal(random)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&strictjson.Decoder{Exact: true}).Decode(text, state); err != nil { // a pointer to nil becomes nil
		t.Fatal(err)
	}
	return state
}

// checkStream checks that a state goes through a stream unchanged, and returns the stream.
func checkStream(t *testing.T, state *everyKind, limit int) []byte {
	t.Helper()
	var stream bytes.Buffer
	if err := newWriter(&stream, limit).value(reflect.ValueOf(state), 0); err != nil {
		t.Fatal(err)
	}
	again := new(everyKind)
	if err := Read(bytes.NewReader(stream.Bytes()), again); err != nil {
		t.Fatalf("limit %d: %v\n%s, want no error", limit, err, stream.Bytes())
	}
	if !reflect.DeepEqual(state, again) {
		want, _ := strictjson.Marshal(state)
		got, _ := strictjson.Marshal(again)
		t.Fatalf("limit %d: got\n%s\nwant\n%s", limit, got, want)
	}
	var second bytes.Buffer
	if err := newWriter(&second, limit).value(reflect.ValueOf(again), 0); err != nil || !bytes.Equal(stream.Bytes(), second.Bytes()) {
		t.Fatalf("limit %d: the second stream is\n%s\n%v, want\n%s", limit, second.Bytes(), err, stream.Bytes())
	}
	return stream.Bytes()
}

func TestRoundTrip(t *testing.T) {
	if err := Check(reflect.TypeFor[everyKind]()); err != nil && !strings.Contains(err.Error(), "Promoted") {
		t.Fatal(err)
	}
	for seed := range uint64(20) { // FuzzStream tries more
		state := newEveryKind(t, seed, 3+int(seed)%4, 4)
		whole, _ := strictjson.Marshal(state)
		for _, limit := range []int{17, 200, 5000, 1 << 30} {
			stream := checkStream(t, state, limit)
			if limit == 1<<30 && string(stream) != string(whole)+"\n" {
				t.Fatalf("without a limit: got\n%swant\n%s", stream, whole)
			}
			if lines := bytes.Count(stream, []byte("\n")); limit == 17 && lines < 30 {
				t.Fatalf("limit %d: got %d lines, want at least 30", limit, lines)
			}
		}
	}
	for _, state := range []*everyKind{{Raw: []byte("null")}, {Raw: []byte("1"), Map: map[string]int{}, Lists: [][]byte{nil, {}}}} {
		checkStream(t, state, 17)
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		of   reflect.Type
		want string
	}{
		{reflect.TypeFor[Embedded](), ""},
		{reflect.TypeFor[map[netip.Addr]*netip.Prefix](), ""}, // methods for text, unexported fields
		{reflect.TypeFor[box](), ""},
		{reflect.TypeFor[struct{ Any json.Marshaler }](), ".Any is a interface"},
		{reflect.TypeFor[struct{ Deep []map[string]struct{ n int } }](), ".Deep.n is not encoded as JSON"},
		{reflect.TypeFor[struct {
			Map map[string]int `json:",omitempty"`
		}](), ".Map is omitted when empty and becomes nil (remove omitempty)"},
	} {
		got := ""
		if err := Check(test.of); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("Check(%v) = %q, want %q", test.of, got, test.want)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add(uint64(1), uint8(4), uint16(100))
	f.Fuzz(func(t *testing.T, seed uint64, most uint8, limit uint16) {
		checkStream(t, newEveryKind(t, seed, 1+int(most)%16, 3), 17+int(limit))
	})
}

// Lines are short, except for a single long value, however many parts a state has.
func TestStreamLines(t *testing.T) {
	type state struct {
		Items map[int]map[string]string
		Texts []string
	}
	s := state{Items: map[int]map[string]string{7: {}}}
	for i := range 5000 {
		s.Items[7][fmt.Sprint(i)] = strings.Repeat("x", 100)
		s.Texts = append(s.Texts, strings.Repeat("y", 50))
	}
	s.Texts = append(s.Texts, strings.Repeat("z", 1<<20))
	var stream bytes.Buffer
	if err := Write(&stream, &s); err != nil {
		t.Fatal(err)
	}
	long := 0
	for line := range bytes.Lines(stream.Bytes()) {
		if len(line) > 2*maxPiece {
			long++
		}
	}
	if long != 1 {
		t.Errorf("%d long lines, want 1", long)
	}
	var again state
	if err := Read(&stream, &again); err != nil || !reflect.DeepEqual(s, again) {
		t.Errorf("the state is read back as %v, %v; want %v and no error", again, err, s)
	}
}

// A cycle is an error, as in encoding/json.
func TestStreamCycle(t *testing.T) {
	type node struct{ Next []*node }
	n := &node{}
	n.Next = []*node{n}
	if err := Write(new(bytes.Buffer), n); err == nil || !strings.Contains(err.Error(), "nested deeper than 256 levels") {
		t.Errorf("got error %v, want \"nested deeper than 256 levels\" in it", err)
	}
	type list struct{ Next *list }
	l := &list{}
	l.Next = l
	if err := Write(new(bytes.Buffer), l); err == nil {
		t.Error("Write() of a cyclic list returned no error, want one")
	}
}

func TestStreamIsExact(t *testing.T) {
	type item struct {
		N int `json:"n"`
	}
	type state struct {
		Total int             `json:"total"`
		Items map[string]item `json:"items"`
		Lists [][]int         `json:"lists"`
	}
	s := state{1, map[string]item{}, [][]int{{1, 2, 3}, {4, 5, 6, 7, 8, 9}}}
	for i := range 6 {
		s.Items[fmt.Sprint("key", i)] = item{i}
	}
	var stream strings.Builder
	if err := newWriter(&stream, 70).value(reflect.ValueOf(&s), 0); err != nil {
		t.Fatal(err)
	}
	const want = `(3
{"total":1}
"items"
(6
{"key0":{"n":0},"key1":{"n":1},"key2":{"n":2},"key3":{"n":3},"key4":{"n":4}}
{"key5":{"n":5}}
)
"lists"
(2
[[1,2,3]]
(6
[4,5,6,7,8,9]
)
)
)
`
	if stream.String() != want {
		t.Fatalf("got\n%s, want %v", stream.String(), want)
	}
	for _, test := range []struct{ old, new, says string }{
		{`"total"`, `"totals"`, `field "totals" is unknown, "total" is missing`},
		{`{"total":1}`, `{}`, `field "total" is missing`},
		{`{"total":1}`, `{"total":1,"x":2}`, `field "x" is unknown`},
		{`{"total":1}` + "\n", ``, `field "items" is unknown, "total" is missing`},
		{`{"total":1}`, `{"total":"1"}`, `total: must be an integer, got a string`},
		{`{"total":1}`, `{"total":null}`, `total: must be an integer, got null`},
		{`"items"`, `"item"`, `field "item" is unknown, "items" is missing`},
		{`{"n":5}`, `{"m":5}`, `key5: field "m" is unknown, "n" is missing`},
		{`"key5"`, `"key3"`, `has 5 entries, not 6`},
		{`"key2"`, `"key1"`, `duplicate key`},
		{`(6`, `(7`, `has 6 entries, not 7`},
		{`(6`, `(-1`, `wrong number of parts`},
		{`(6`, `(`, `wrong number of parts`},
		{"(6\n[", "(5\n[", `has 6 elements or more, not 5`},
		{"(6\n[", "(7\n[", `has 6 elements, not 7`},
		{`[4,5,`, `[4,"5",`, `must be an integer, got a string`},
		{`(3`, `(2`, `has 3 fields, not 2`},
		{"{\"key5\":{\"n\":5}}\n", "\n", `an empty line`},
		{"[[1,2,3]]", "[[1,2,3]", "at byte"},
		{"[[1,2,3]]\n", "", "has 1 elements, not 2"},
		{")\n)\n)\n", ")\n)\n", "unexpected EOF"},
		{")\n)\n)\n", ")\n)\n)\n1\n", "more after its end"},
		{")\n)\n)\n", ")\n)\n{}\n)\n", "has more than 3 fields"},
		{`{"total":1}`, "\"total\"\n(1\n)", "parts of a int"},
	} {
		changed := strings.Replace(want, test.old, test.new, 1)
		if changed == want {
			t.Fatalf("the stream is\n%s\nwant %s in it", want, test.old)
		}
		if err := Read(strings.NewReader(changed), new(state)); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q for %q: got error %v, want %s", test.new, test.old, err, test.says)
		}
	}
	for n := range len(want) {
		if err := Read(strings.NewReader(want[:n]), new(state)); err == nil {
			t.Errorf("no error for the first %d bytes, want an error", n)
		}
	}
}

// A panic of a method for JSON is an error, in whichever goroutine it happens.
func TestStreamPanics(t *testing.T) {
	type state struct{ List []fragile }
	if err := Read(strings.NewReader("(1\n\"List\"\n(1\n[1]\n)\n)\n"), new(state)); err == nil || !strings.Contains(err.Error(), "it breaks") {
		t.Errorf("got error %v, want \"it breaks\" in it", err)
	}
}

type fragile int

func (*fragile) UnmarshalJSON([]byte) error { panic(errors.New("it breaks")) }

func BenchmarkStream(b *testing.B) {
	type item struct {
		ID, Title string
		Seq       int64
		CreatedAt time.Time
	}
	s := &struct {
		Items map[string]*item
		Order []string
	}{Items: map[string]*item{}}
	for i := range 100_000 {
		id := fmt.Sprintf("%016d", i*7919)
		s.Items[id] = &item{id, fmt.Sprint("a title with a number: ", i), int64(i), time.UnixMicro(int64(i)).UTC()}
		s.Order = append(s.Order, id)
	}
	var out bytes.Buffer
	if err := Write(&out, s); err != nil {
		b.Fatal(err)
	}
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(out.Len()))
		for b.Loop() {
			out.Reset()
			if err := Write(&out, s); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(out.Len()))
		for b.Loop() {
			if err := Read(bytes.NewReader(out.Bytes()), reflect.New(reflect.TypeOf(s).Elem()).Interface()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
