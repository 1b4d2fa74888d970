package stdfd_test

import (
	"fmt"
	"log"

	"github.com/petrock/petrock/core/stdfd"
)

// A program that answers on standard output takes it at the start of main.
func Example() {
	out, err := stdfd.TakeStdout()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("a dependency prints this to standard error")
	fmt.Fprintln(out, `{"jsonrpc":"2.0","id":1,"result":{}}`)
}
