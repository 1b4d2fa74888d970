//go:build unix

package process_test

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/petrock/petrock/core/plumbing/process"
)

// A conversation with a program over its standard input and output.
func ExampleStart() {
	p, err := process.Start(process.Command{Program: "cat"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := io.WriteString(p.In, "hello\n"); err != nil {
		fmt.Println(err)
	}
	line, err := bufio.NewReader(p.Out).ReadString('\n')
	p.Close()
	fmt.Printf("%q %v, %s\n", line, err, p.ExitState())
	// Output: "hello\n" <nil>, exit status 0
}

func ExampleRun() {
	stdout, stderr, err := process.Run(context.Background(), process.RunOptions{}, "sh", "-c", "echo out; echo trouble >&2; exit 3")
	fmt.Printf("%q %q %v\n", stdout, stderr, err)
	// Output: "out\n" "trouble\n" sh -c: exit status 3
}
