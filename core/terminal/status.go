package terminal

import (
	"errors"
	"fmt"
)

// The statuses that a program ends with.
const (
	Done      = 0 // it was done
	Failed    = 1 // it could not be done
	Misuse    = 2 // it was asked for in a way that cannot be understood
	Unreached = 3 // whoever was to do it was not reached, or not understood
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

// An UnreachedError says that a server was not reached, or is not to be understood: that it has not answered.
type UnreachedError struct{ Err error }

// Error is the text of the error inside.
func (e *UnreachedError) Error() string { return e.Err.Error() }

// Unwrap is the error inside.
func (e *UnreachedError) Unwrap() error { return e.Err }

// A SaidError is an error whose facts have been printed already, as the result of a command.
type SaidError struct{ Err error }

// Error is the text of the error inside.
func (e *SaidError) Error() string { return e.Err.Error() }

// Unwrap is the error inside.
func (e *SaidError) Unwrap() error { return e.Err }

// Status is what a program that ends with err tells its caller: [Done] for nil, [Misuse]
// for a [UsageError], [Unreached] for an [UnreachedError], [Failed] for any other error.
func Status(err error) int {
	var usage *UsageError
	var unreached *UnreachedError
	switch {
	case err == nil:
		return Done
	case errors.As(err, &usage):
		return Misuse
	case errors.As(err, &unreached):
		return Unreached
	}
	return Failed
}
