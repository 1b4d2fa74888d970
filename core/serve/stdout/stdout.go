package stdout

// Stdout is the descriptor of what was standard output when the program began.
// It is meant for os.NewFile.
func Stdout() uintptr { return stdout }

// stdout is set when the package is initialised, which is the point of it, and never changed.
var stdout = take()
