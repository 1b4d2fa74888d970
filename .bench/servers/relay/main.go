// Relay starts a server over stdio and copies bytes between it and the client. It is the least that
// a process between the two can cost.
//
//	relay PROGRAM ARGS...
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
		os.Exit(1)
	}
}

func run(command []string) error {
	if len(command) == 0 {
		return errors.New("want a program and its arguments")
	}
	childIn, toChild, err := os.Pipe()
	if err != nil {
		return err
	}
	fromChild, childOut, err := os.Pipe()
	if err != nil {
		return err
	}
	// In blocking mode, a read or a write is one system call.
	toChild.Fd()
	fromChild.Fd()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	childIn.Close()
	childOut.Close()
	go func() {
		_ = forward(toChild, os.Stdin) // the end of either process ends the other one
		toChild.Close()
	}()
	return errors.Join(forward(os.Stdout, fromChild), cmd.Wait())
}

// forward copies until the end of from. It does not use io.Copy, which would splice.
func forward(to, from *os.File) error {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return err
		}
	}
}
