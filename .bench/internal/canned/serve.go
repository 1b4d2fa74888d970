// Package canned is a server that answers with bytes written beforehand. It decodes
// nothing and checks nothing: no server on pipes can do less, so it shows what the pipes
// and the machine cost.
package canned

import (
	"bufio"
	"errors"
	"io"
)

// Serve answers the lines of in until there are no more. It writes when all that has
// come in is answered.
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
