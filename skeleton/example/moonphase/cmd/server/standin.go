// The server of this example has another defaults.go, which is all that is taken from here. The rest stands in for what that finds
// in a project, so that it is compiled and vetted here.
package main

import "fmt"

func main() { fmt.Println(defaultAddr, keysRequired) }
