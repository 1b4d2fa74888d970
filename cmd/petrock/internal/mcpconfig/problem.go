package mcpconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/petrock/petrock/core/strictjson"
)

// A Problem is something wrong in a configuration file, with the way out. Values of variables are no part of its text.
type Problem struct {
	File   string
	Line   int    // from 1, where the file is not the JSON that it has to be; otherwise 0
	Column int    // from 1, in characters
	Server string // "" if the file as a whole is wrong
	Field  string // such as args[2] or headers.Authorization; "" if it is not one
	Err    error
}

func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if p.Server != "" {
		fmt.Fprintf(&b, ": server %q", p.Server)
	}
	if p.Field != "" {
		b.WriteString(": " + p.Field)
	}
	return b.String() + ": " + p.Err.Error()
}

func (p *Problem) Unwrap() error { return p.Err }

// malformed is the problem of a file whose text is refused for err.
func malformed(file string, text []byte, err error) *Problem {
	p := &Problem{File: file, Err: err}
	var broken *strictjson.Error
	if !errors.As(err, &broken) {
		return p
	}
	before := text[:min(broken.Offset, len(text))]
	p.Line = bytes.Count(before, []byte("\n")) + 1
	p.Column = utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	p.Err = errors.New(broken.Msg)
	if broken.Kind == strictjson.Duplicate {
		p.Err = errors.New(broken.Msg + "; keep one of them")
	}
	return p
}

// bare is an error of the file system without the path, which whoever reports it has named.
func bare(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
