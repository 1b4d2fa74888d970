// Unruly is a server that breaks one rule, which its argument names.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func main() {
	rule := os.Args[1]
	switch rule {
	case "silent":
		time.Sleep(time.Hour)
	case "dies":
		fmt.Fprintln(os.Stderr, "cannot open the database")
		os.Exit(3)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "children":
		// Somebody who lives on and holds standard output.
		sleeper := exec.Command("sleep", "60")
		sleeper.Stdout, sleeper.Stderr = os.Stdout, os.Stderr
		if err := sleeper.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Fprintln(os.Stderr, "sleeper", sleeper.Process.Pid)
	case "garbage":
		fmt.Println("Listening on nothing in particular")
		fmt.Println(`{"jsonrpc":"2.0"`)
		fmt.Println("\x00\xff")
		fmt.Println(strings.Repeat("x", 100_000))
	case "babbles":
		fmt.Println("Welcome to the server")
		time.Sleep(time.Hour)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m message
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		if !serve(rule, m) {
			return
		}
	}
	if rule == "stubborn" || rule == "lingers" {
		time.Sleep(time.Hour)
	}
}

// serve answers a request, and reports whether to go on.
func serve(rule string, m message) bool {
	switch m.Method {
	case "server/discover":
		if rule == "older" {
			fmt.Fprintln(os.Stderr, "expected initialize")
			os.Exit(1)
		}
		if rule == "mute" {
			return true
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no method"}}`+"\n", m.ID)
	case "initialize":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"unruly","version":"1"}}}`+"\n", m.ID)
	case "tools/call":
		if rule == "deaf" {
			time.Sleep(time.Hour)
		}
		return call(rule, m)
	default:
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
	}
	return true
}

func call(rule string, m message) bool {
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"fine"}]}}`+"\n", m.ID)
	switch rule {
	case "twice":
		fmt.Print(answer + answer)
	case "others":
		fmt.Print(`{"jsonrpc":"2.0","id":999,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":"1","result":{}}` + "\n" + answer)
	case "late":
		go func() {
			time.Sleep(200 * time.Millisecond)
			fmt.Print(answer)
		}()
	case "never":
	case "crashes":
		fmt.Fprintln(os.Stderr, "panic: out of luck")
		os.Exit(2)
	case "leaves":
		return false
	case "broken":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{},"error":{}}`+"\n", m.ID)
	case "nonsense":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":[1,2]}`+"\n", m.ID)
	case "unknown":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"hologram","data":1},{"type":"text","text":"fine"}]}}`+"\n", m.ID)
	default:
		fmt.Print(answer)
	}
	return true
}
