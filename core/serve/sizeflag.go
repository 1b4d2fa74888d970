package serve

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A sizeFlag is the value of a flag for a number of bytes, such as 1048576, 64KiB, 1MiB or 2GiB, in upper or lower case.
type sizeFlag[T int | int64] struct{ to *T }

func newSizeFlag[T int | int64](to *T) sizeFlag[T] { return sizeFlag[T]{to} }

// Set implements [pflag.Value].
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
		return errors.New("too large")
	case err != nil:
		return errors.New("a size is a number of bytes, such as 1048576, 64KiB or 1MiB")
	case n < 0:
		return errors.New("a size must not be negative")
	}
	*s.to = T(bytes)
	return nil
}

// String implements [pflag.Value].
func (s sizeFlag[T]) String() string {
	if s.to == nil || *s.to == 0 {
		return "0"
	}
	n, unit := int64(*s.to), 0
	units := []string{"", "KiB", "MiB", "GiB"}
	for n%1024 == 0 && unit < len(units)-1 {
		n, unit = n/1024, unit+1
	}
	return fmt.Sprintf("%d%s", n, units[unit])
}

// Type implements [pflag.Value].
func (s sizeFlag[T]) Type() string { return "size" }
