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

// UsageSignal is the signal that makes a server collect its garbage, release free memory to the
// system, and write a line to its standard output: [UsagePrefix], followed by a [Usage] as JSON.
const UsageSignal = syscall.SIGUSR1

// UsagePrefix is the prefix of the line with a [Usage].
const UsagePrefix = "usage "

// A Usage is a server's use of resources after garbage collection.
type Usage struct {
	Heap       uint64 `json:"heap"`   // reachable bytes
	Stacks     uint64 `json:"stacks"` // bytes
	Goroutines int    `json:"goroutines"`
}

// ReportUsage writes a line to out for each [UsageSignal], from now on.
func ReportUsage(out io.Writer) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, UsageSignal)
	go answer(out, asked)
}

// answer writes a line to out for each signal.
func answer(out io.Writer, asked <-chan os.Signal) {
	for range asked {
		// Objects with finalizers and pooled objects need a second or third collection.
		runtime.GC()
		runtime.GC()
		debug.FreeOSMemory()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		line, err := json.Marshal(Usage{memory.HeapAlloc, memory.StackInuse, runtime.NumGoroutine()})
		if err != nil {
			line = []byte(err.Error()) // cannot happen: a Usage has only numbers
		}
		fmt.Fprintf(out, "%s%s\n", UsagePrefix, line)
	}
}
