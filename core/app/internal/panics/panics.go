// Package panics turns panics of the code of features into errors.
package panics

import (
	"fmt"
	"runtime"
	"strings"
)

// Catch makes err the panic of the function that defers Catch, if it panics.
func Catch(err *error) {
	if p := recover(); p != nil {
		*err = Error(p)
	}
}

// Error returns an error for a recovered panic, with its file and line. The deferred function that
// recovers must call it.
func Error(p any) error {
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
