package process

import (
	"path/filepath"
	"strconv"
	"strings"
)

// PanicPosition returns the file and line of the innermost call that is in the project in root, from
// the output of a Go program that panicked. Petrock's own folders come last. The file is empty if no
// call is in the project.
func PanicPosition(root, output string) (file string, line int) {
	for text := range strings.Lines(output) {
		position, isInside := strings.CutPrefix(text, "\t"+filepath.ToSlash(root)+"/")
		name, rest, isCall := strings.Cut(position, ".go:")
		if !isInside || !isCall {
			continue
		}
		isPetrock := strings.HasPrefix(name, "core/") || strings.HasPrefix(name, "generators/")
		if file == "" || !isPetrock {
			number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			line, _ = strconv.Atoi(number)
			file = name + ".go"
		}
		if !isPetrock {
			break
		}
	}
	return file, line
}
