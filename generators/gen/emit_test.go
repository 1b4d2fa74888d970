package gen_test

import (
	"strings"
	"testing"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// Bytes returns the error of Code, even if the file is valid Go without that expression.
func TestCodeFails(t *testing.T) {
	file := gen.NewGoFile("example.com/hello", "hello")
	if got := file.Code(jen.Op("(")); got != "" {
		t.Errorf("Code() = %q, want nothing", got)
	}
	file.Text("var x = 1")
	if got, err := file.Bytes(); err == nil || !strings.Contains(err.Error(), "expected") {
		t.Errorf("Bytes() = %q, %v, want the error of Code", got, err)
	}
}
