// Package stdfd moves standard descriptors. It imports only package syscall, so that it can be used
// before package os is initialised.
package stdfd
