package front

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
)

// Ask is the signal upon which a server collects its garbage, gives what is free back to the
// system, and writes a line to its standard output: [Holds], and then a [Holding] as JSON.
const Ask = syscall.SIGUSR1

// Holds is what that line begins with.
const Holds = "holding "

// A Holding is what a server still has in its hands once its garbage is collected.
type Holding struct {
	Heap       uint64 `json:"heap"`   // bytes that can be reached
	Stacks     uint64 `json:"stacks"` // bytes
	Goroutines int    `json:"goroutines"`
}

// AnswerWhenAsked answers on out from now on.
func AnswerWhenAsked(out io.Writer) { go answer(out, listen()) }

// listen takes note of being asked, from now on.
func listen() <-chan os.Signal {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, Ask)
	return asked
}

// answer writes a line to out for each time that the server is asked.
func answer(out io.Writer, asked <-chan os.Signal) {
	for range asked {
		// What has a finalizer, or lies in a pool, goes with a second or third collection.
		runtime.GC()
		runtime.GC()
		debug.FreeOSMemory()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		line, err := json.Marshal(Holding{memory.HeapAlloc, memory.StackInuse, runtime.NumGoroutine()})
		if err != nil {
			line = []byte(err.Error()) // numbers, which cannot fail
		}
		fmt.Fprintf(out, "%s%s\n", Holds, line)
	}
}
