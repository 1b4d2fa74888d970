package trial

import (
	"fmt"
	"time"
)

// Limits are the resources of a test. Zero fields mean the defaults.
//
// Memory is enforced on Linux only: a test that uses more is killed, its children get at most twice as
// much, and no file may be larger. On other systems it is a soft limit (GOMEMLIMIT).
type Limits struct {
	Time   time.Duration // default 10 s
	Memory int64         // in bytes; default 1 GiB
	Output int           // bytes of standard output and standard error; default 64 KiB, at most 64 MiB
}

// The defaults and maximum of Limits.
const (
	defaultTime   = 10 * time.Second
	defaultMemory = 1 << 30
	defaultOutput = 64 << 10
	mostOutput    = 64 << 20
)

// complete returns l with defaults for zero fields.
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

// inWords formats a duration: 10 s, 500 ms.
func inWords(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

// inBytes formats a size: 64 KiB, 1 GiB.
func inBytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB"}
	unit := 0
	for unit < len(units)-1 && n >= 1<<10 && n%(1<<10) == 0 {
		n >>= 10
		unit++
	}
	return fmt.Sprintf("%d %s", n, units[unit])
}
