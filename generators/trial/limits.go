package trial

import (
	"fmt"
	"time"
)

// Limits are what a process may use. A field that is zero means the default.
//
// The limit of memory holds on Linux alone: a test that uses more is ended, and whatever it
// starts gets no more than twice as much, and writes no file that is larger. Elsewhere, Go is asked to
// make do with it, and what needs more runs into the limit of time.
type Limits struct {
	Time   time.Duration // from the start to the end; 10 s
	Memory int64         // in bytes; 1 GiB
	Output int           // bytes of standard output and standard error together; 64 KiB, and at most 64 MiB
}

// The defaults of Limits, and the most that there is.
const (
	defaultTime   = 10 * time.Second
	defaultMemory = 1 << 30
	defaultOutput = 64 << 10
	mostOutput    = 64 << 20
)

// complete is l with the defaults.
func (l Limits) complete() Limits {
	if l.Time <= 0 {
		l.Time = defaultTime
	}
	if l.Memory <= 0 {
		l.Memory = defaultMemory
	}
	if l.Output <= 0 {
		l.Output = defaultOutput
	}
	l.Output = min(l.Output, mostOutput)
	return l
}

// inWords is a duration as one says it: 10 s, 500 ms.
func inWords(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

// inBytes is a size as one says it: 64 KiB, 1 GiB.
func inBytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB"}
	unit := 0
	for unit < len(units)-1 && n >= 1<<10 && n%(1<<10) == 0 {
		n >>= 10
		unit++
	}
	return fmt.Sprintf("%d %s", n, units[unit])
}
