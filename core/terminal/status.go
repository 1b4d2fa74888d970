package terminal

import (
	"errors"
	"fmt"
)

// The statuses that a program ends with.
const (
	Done   = 0 // it was done
	Failed = 1 // it could not be done
	Misuse = 2 // it was asked for in a way that cannot be understood
)

// A UsageError says that what was typed is wrong: to try again makes no sense before
// it is corrected.
type UsageError struct{ Err error }

// Error is the text of the error inside.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap is the error inside.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef is [fmt.Errorf] for wrong usage.
func Usagef(format string, args ...any) error {
	return &UsageError{Err: fmt.Errorf(format, args...)}
}

// Status is what a program that ends with err tells its caller: [Done] for nil, [Misuse]
// for a [UsageError], [Failed] for any other error.
func Status(err error) int {
	var usage *UsageError
	switch {
	case err == nil:
		return Done
	case errors.As(err, &usage):
		return Misuse
	}
	return Failed
}
