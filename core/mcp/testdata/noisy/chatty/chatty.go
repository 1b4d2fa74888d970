// Package chatty prints to standard output, like a careless dependency.
package chatty

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// early is os.Stdout before main.
var early = os.Stdout

// Start prints, and starts a goroutine that goes on printing.
func Start() {
	fmt.Println("chatty: a line from the start")
	fmt.Print("chatty: half a line from the start")
	log.SetOutput(os.Stdout)
	go func() {
		for range time.Tick(time.Millisecond) {
			fmt.Print("chatty: a goroutine ")
			fmt.Fprintln(early, "and its copy of os.Stdout")
		}
	}()
}

// Talk prints in all ways that it can.
func Talk() {
	fmt.Println(`{"jsonrpc":"2.0","id":1,"result":"a lie"}`)
	fmt.Fprint(early, "half a line")
	os.Stdout.WriteString("and a newline\n\n\n")
	log.Print("through package log")
	syscall.Write(syscall.Stdout, []byte("through the descriptor\n"))
	child := exec.Command("echo", "from a child process")
	child.Stdout = os.Stdout
	if err := child.Run(); err != nil {
		fmt.Println(err)
	}
}
