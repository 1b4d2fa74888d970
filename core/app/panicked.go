package app

import (
	"fmt"
	"runtime"
	"strings"
)

// panicked is an error for what was recovered: it says where that was. It is called by the function that recovered it.
func panicked(p any) error {
	var calls [64]uintptr
	frames := runtime.CallersFrames(calls[:runtime.Callers(2, calls[:])])
	seen := false
	for {
		frame, more := frames.Next()
		if seen && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Errorf("panic: %v (%s:%d)", p, frame.File[strings.LastIndexByte(frame.File, '/')+1:], frame.Line)
		}
		seen = seen || frame.Function == "runtime.gopanic"
		if !more {
			return fmt.Errorf("panic: %v", p)
		}
	}
}
