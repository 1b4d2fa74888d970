package stdout

// FD returns the descriptor of what was standard output when the program began. It is meant for os.NewFile.
func FD() uintptr { return fd }

// fd is set when the package is initialised, which is its purpose, and never changed.
var fd = take()
