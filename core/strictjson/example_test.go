package strictjson_test

import (
	"fmt"

	"github.com/petrock/petrock/core/strictjson"
)

func ExampleUnmarshal() {
	var order struct {
		Items []struct {
			Price float64 `json:"price"`
		} `json:"items"`
	}
	for _, text := range []string{
		`{"items":[{"price":9.5}]}`,
		`{"items":[{"price":"free"}]}`,
		`{"items":[],"items":[{"price":1}]}`,
	} {
		fmt.Println(strictjson.Unmarshal([]byte(text), &order))
	}
	// Output:
	// <nil>
	// items[0].price: must be a number, got a string
	// duplicate key "items" at byte 12
}

// An exact decoder reads stored data, and refuses data that another version of the type wrote.
func ExampleDecoder_exact() {
	var note struct {
		Title string `json:"title"`
	}
	exact := strictjson.Decoder{Exact: true}
	fmt.Println(exact.Decode([]byte(`{"title":"Milk"}`), &note))
	fmt.Println(exact.Decode([]byte(`{"name":"Milk"}`), &note))
	// Output:
	// <nil>
	// field "name" is unknown, "title" is missing
}

// The values are parts of the message, which is parsed once and not copied.
func ExampleObject() {
	message := []byte(`{"method":"ping","params":{"n":1}}`)
	err := strictjson.Object(message, func(key, value []byte) error {
		fmt.Printf("%s: %s\n", key, value)
		return nil
	})
	fmt.Println(err)
	// Output:
	// method: "ping"
	// params: {"n":1}
	// <nil>
}
