package main

import (
	"errors"
	"strconv"
	"strings"
)

// A sizeFlag is the value of a flag that is a number of bytes: 1048576, 64KiB, 1MiB or 2GiB. The letters may be small ones.
type sizeFlag[T int | int64] struct{ to *T }

// newSizeFlag is the flag for a number.
func newSizeFlag[T int | int64](to *T) sizeFlag[T] { return sizeFlag[T]{to} }

// Set reads a size.
func (s sizeFlag[T]) Set(text string) error {
	number, shift := strings.ToLower(text), 0
	for i, unit := range []string{"kib", "mib", "gib"} {
		if before, ok := strings.CutSuffix(number, unit); ok {
			number, shift = strings.TrimSpace(before), 10*(i+1)
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	bytes := n << shift
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && (bytes>>shift != n || int64(T(bytes)) != bytes):
		return errors.New("that is more than can be")
	case err != nil:
		return errors.New("a size is a number of bytes, such as 1048576, 64KiB or 1MiB")
	case n < 0:
		return errors.New("a size cannot be negative; 0 is what is usual")
	}
	*s.to = T(bytes)
	return nil
}

// String is the size in bytes.
func (s sizeFlag[T]) String() string {
	if s.to == nil {
		return "0"
	}
	return strconv.FormatInt(int64(*s.to), 10)
}

// Type is what help calls it.
func (s sizeFlag[T]) Type() string { return "size" }
