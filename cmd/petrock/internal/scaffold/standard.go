package scaffold

import "slices"

// isStandard reports whether import paths that begin with this word belong to Go: the standard
// library and the go command.
func isStandard(word string) bool {
	_, found := slices.BinarySearch(standard(), word)
	return found
}

// standard lists what the paths of the standard library begin with, sorted. A test holds it
// against the library itself.
func standard() []string {
	return []string{
		"archive", "bufio", "builtin", "bytes", "cmd", "cmp", "compress", "container", "context", "crypto",
		"database", "debug", "embed", "encoding", "errors", "expvar", "flag", "fmt", "go", "hash", "html",
		"image", "index", "internal", "io", "iter", "log", "maps", "math", "mime", "net", "os", "path",
		"plugin", "reflect", "regexp", "runtime", "slices", "sort", "std", "strconv", "strings", "structs",
		"sync", "syscall", "testing", "text", "time", "unicode", "unique", "unsafe", "vendor", "weak",
	}
}
