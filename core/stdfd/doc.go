// Package stdfd moves standard descriptors out of the way. It stands on package
// syscall alone, so that it can be used before package os is initialised.
package stdfd
