// Package canned is a server with canned responses. It decodes and checks nothing: no server on
// pipes can do less, so it measures the cost of the pipes and the machine.
package canned

import (
	"bufio"
	"errors"
	"io"
)

// Serve answers the lines of in until its end. It flushes out when all lines read so far are
// answered.
func Serve(in io.Reader, out io.Writer) error {
	reader := bufio.NewReaderSize(in, 64<<10)
	writer := bufio.NewWriterSize(out, 64<<10)
	var answer []byte
	for {
		line, err := reader.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return writer.Flush()
		}
		if err != nil {
			return err
		}
		answer = Append(answer[:0], line)
		if _, err := writer.Write(answer); err != nil {
			return err
		}
		if reader.Buffered() == 0 {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
	}
}
