package strictjson

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"
)

type price struct {
	Cents int    `json:"cents"`
	Unit  string `json:"unit,omitempty"`
}

type Base struct {
	Created time.Time `json:"created"`
}

type Extra struct {
	Note string `json:"note"`
}

type order struct {
	Base
	*Extra
	Name   string           `json:"name"`
	Count  int              `json:"count"`
	Half   float64          `json:"half"`
	Paid   bool             `json:"paid"`
	Price  price            `json:"price"`
	Items  []price          `json:"items"`
	ByName map[string]price `json:"byName"`
	Maybe  *price           `json:"maybe"`
	Seen   time.Time        `json:"seen,omitzero"`
	Pair   [2]int           `json:"pair"`
	Any    any              `json:"any"`
	Blob   []byte           `json:"blob"`
	Quoted int64            `json:"quoted,string"`
	Raw    json.RawMessage  `json:"raw"`
	Mood   feeling          `json:"mood"`
	Opaque opaque           `json:"opaque"`
}

// feeling has MarshalText and UnmarshalText.
type feeling int

func (m feeling) MarshalText() ([]byte, error) { return []byte{'a' + byte(m)%26}, nil }
func (m *feeling) UnmarshalText(text []byte) error {
	if len(text) != 1 || text[0] < 'a' || text[0] > 'z' {
		return errors.New("no mood")
	}
	*m = feeling(text[0] - 'a')
	return nil
}

// opaque has a MarshalJSON that writes an unknown key, but no UnmarshalJSON.
type opaque struct{ N int }

func (o opaque) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]int{"N": o.N, "double": 2 * o.N})
}

const someOrder = `{"created":"2026-01-02T03:04:05Z","name":"n","count":1,"half":0.5,"paid":true,"price":{"cents":5},"items":[{"cents":1},{"cents":2,"unit":"x"}],` +
	`"byName":{"a":{"cents":1}},"maybe":{"cents":3},"pair":[1,2],"any":{"x":1},"blob":"AQ==","quoted":"7","raw":{"a":1},"mood":"b","opaque":{"N":2,"double":4}}`

// change returns someOrder with the members of the patch set, or removed where they are null in Go.
func change(t *testing.T, patch map[string]any) []byte {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(someOrder), &all); err != nil {
		t.Fatal(err)
	}
	for key, value := range patch {
		if all[key] = value; value == nil {
			delete(all, key)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestExact(t *testing.T) {
	null := json.RawMessage("null")
	raw := func(text string) any { return json.RawMessage(text) }
	for _, test := range []struct {
		name  string
		patch map[string]any
		want  string // the error; empty if it is accepted
	}{
		{"as it is", nil, ""},
		{"renamed", map[string]any{"name": nil, "title": "n"}, `field "title" is unknown, "name" is missing`},
		{"unknown", map[string]any{"x": 1}, `field "x" is unknown`},
		{"missing", map[string]any{"count": nil}, `field "count" is missing`},
		{"all are named", map[string]any{"count": nil, "half": nil, "x": 1, "y": 2}, `field "x" is unknown, "y" is unknown, "count" is missing, "half" is missing`},
		{"letter case", map[string]any{"name": nil, "Name": "n"}, `field "Name" is unknown, "name" is missing`},
		{"nested unknown", map[string]any{"price": raw(`{"cents":1,"x":2}`)}, `price: field "x" is unknown`},
		{"nested missing", map[string]any{"price": raw(`{}`)}, `price: field "cents" is missing`},
		{"in a list", map[string]any{"items": raw(`[{"cents":1},{"euros":1}]`)}, `items[1]: field "euros" is unknown, "cents" is missing`},
		{"in a map", map[string]any{"byName": raw(`{"a":{"euros":1}}`)}, `byName.a: field "euros" is unknown, "cents" is missing`},
		{"behind a pointer", map[string]any{"maybe": raw(`{"euros":1}`)}, `maybe: field "euros" is unknown, "cents" is missing`},
		{"embedded missing", map[string]any{"created": nil}, `field "created" is missing`},
		{"embedded pointer", map[string]any{"note": "x"}, ""},
		{"another type", map[string]any{"count": "1"}, "count: must be an integer, got a string"},
		{"null string", map[string]any{"name": null}, "name: must be a string, got null"},
		{"null number", map[string]any{"count": null}, "count: must be an integer, got null"},
		{"null float", map[string]any{"half": null}, "half: must be a number, got null"},
		{"null boolean", map[string]any{"paid": null}, "paid: must be a boolean, got null"},
		{"null struct", map[string]any{"price": null}, "price: must be an object, got null"},
		{"null array", map[string]any{"pair": null}, "pair: must be an array, got null"},
		{"null text", map[string]any{"mood": null}, "mood: must be a string, got null"},
		{"null quoted", map[string]any{"quoted": null}, "quoted: must be an integer, got null"},
		{"null in a list", map[string]any{"items": raw(`[null]`)}, "items[0]: must be an object, got null"},
		{"null where Go writes it", map[string]any{"items": null, "byName": null, "maybe": null, "any": null, "blob": null, "raw": null}, ""},
		{"pointer left out", map[string]any{"maybe": nil}, ""},
		{"slice left out", map[string]any{"items": nil}, `field "items" is missing`},
		{"shorter array", map[string]any{"pair": []int{1}}, "pair: must have 2 elements, has 1"},
		{"longer array", map[string]any{"pair": []int{1, 2, 3}}, "pair: must have 2 elements, has 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var v order
			got := ""
			if err := (&Decoder{Exact: true}).Decode(change(t, test.patch), &v); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	var e *TypeError
	err := (&Decoder{Exact: true}).Decode(change(t, map[string]any{"items": raw(`[{"euros":1}]`)}), new(order))
	if !errors.As(err, &e) || e.Path != "items[0]" || !reflect.DeepEqual(e.Unknown, []string{"euros"}) || !reflect.DeepEqual(e.Missing, []string{"cents"}) {
		t.Errorf(`got %+v; want the path items[0], unknown ["euros"] and missing ["cents"]`, e)
	}
}

// The exact decoder decodes the output of Marshal, and Marshal encodes the result to the same text.
func FuzzExactRoundTrip(f *testing.F) {
	f.Add([]byte(someOrder))
	f.Add([]byte(`{"items":null,"note":"x","maybe":null,"seen":"2026-01-02T03:04:05Z","opaque":{"N":1},"mood":"c"}`))
	f.Add([]byte(`{}`))
	decoder, loose := (&Decoder{Exact: true}), new(Decoder)
	f.Fuzz(func(t *testing.T, data []byte) {
		var v, again order
		if loose.Decode(data, &v) != nil {
			return
		}
		text, err := Marshal(v)
		if err != nil {
			return
		}
		if err := decoder.Decode(text, &again); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if written, err := Marshal(again); err != nil || string(written) != string(text) {
			t.Fatalf("Marshal = %s, %v; want %s as at first and no error", written, err, text)
		}
		// The exact decoder accepts a subset of the inputs, with the same results.
		var exact order
		if decoder.Decode(data, &exact) == nil && !reflect.DeepEqual(v, exact) {
			t.Fatalf("%s: %+v, and exactly %+v", data, v, exact)
		}
	})
}
