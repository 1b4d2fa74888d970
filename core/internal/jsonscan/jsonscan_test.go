package jsonscan

import (
	"fmt"
	"reflect"
	"testing"
)

// Members finds the same members with the ends from Object as without them.
func TestMembers(t *testing.T) {
	for _, inner := range []string{
		`{}`, ` { } `, `{"a":1}`, `{"a":"\\\"","b":"\"}"}`, ` { "a" : [ 1 , { "b" : "}" } ] , "c\u0064" : true , "" : "" } `,
		`{"a":{"b":[1,"}"]},"c":"\"","d":3,"e":[],"f":{}}`, ` { "a" : 1 , "b" : { } } `,
	} {
		members := func(object []byte, ends *Ends) (list []string) {
			_ = Members(object, ends, func(key, value []byte) error { // the function returns no error
				list = append(list, fmt.Sprintf("%q=%s", key, value))
				return nil
			})
			return list
		}
		var got, want []string
		err := Object([]byte(`{"x":[{"y":1}],"params": `+inner+`,"z":2}`), func(key, value []byte, ends Ends) error {
			if string(key) == "params" {
				got, want = members(value, &ends), members(value, &Ends{})
			}
			return nil
		})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Members(%s) = %q, %v, want %q", inner, got, err, want)
		}
	}
}

func TestMember(t *testing.T) {
	for _, test := range []struct{ object, want string }{
		{`{"id":7,"x":1}`, "7"},
		{` { "x" : {"id":1} , "\u0069d" : "a" } `, `"a"`},
		{`{"x":1}`, ""},
		{`["id",1]`, ""},
		{`{}`, ""},
	} {
		start, end := Member([]byte(test.object), "id")
		if got := test.object[start:end]; got != test.want {
			t.Errorf("Member(%s, id) = %d, %d (%s), want %s", test.object, start, end, got, test.want)
		}
	}
}
