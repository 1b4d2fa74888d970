package terminal

import "os"

// Watched reports whether a stream leads to a terminal, where somebody looks on. A pipe,
// a file, the null device and anything that is no [os.File] are not.
func Watched(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
