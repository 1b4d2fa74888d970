// Package stdfd duplicates and redirects standard file descriptors. It does not import package os, so
// that it can run before os is initialized.
package stdfd
