package gen_test

import (
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/gen"
)

// An accepted name is valid wherever it is used.
func FuzzParseName(f *testing.F) {
	for _, seed := range []string{
		"send_mail", "send-mail", "sendHTTPRequest", "HTTPServer2", "GetURLs", "a_b_c", "x_linux_amd64", "send_test", "code_gen",
		"con", "../x", "sеnd", "a\nb", "_", "V2Add", "func", "http_ids", "add_2_numbers",
	} {
		f.Add(seed)
	}
	wire := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	f.Fuzz(func(t *testing.T, text string) {
		name, err := gen.ParseName(text)
		if err != nil {
			if name != (gen.Name{}) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000 {
				t.Errorf("ParseName(%q) = %q and an error of %d bytes: %v; want no name, and one line of at most 1000 bytes", text, name.Wire(), len(err.Error()), err)
			}
			return
		}
		if !wire.MatchString(name.Wire()) {
			t.Errorf("the wire name of %q is %q, want it to match %s", text, name.Wire(), wire)
		}
		if again, err := gen.ParseName(name.Wire()); err != nil || again != name {
			t.Errorf("ParseName(%q) is %q, which is parsed as %q, %v; want the same name and no error", text, name.Wire(), again.Wire(), err)
		}
		if ident := name.Go(); !token.IsIdentifier(ident) || !token.IsExported(ident) {
			t.Errorf("%q is %q in Go; want token.IsIdentifier(ident) and token.IsExported(ident)", text, ident)
		}
		if name.IsExact() != (gen.WireName(name.Go()) == name.Wire()) {
			t.Errorf("IsExact() of %q = %v, want %v", text, name.IsExact(), gen.WireName(name.Go()) == name.Wire())
		}
		if err := gen.CheckWireName(name.Wire(), "weather"); (err == nil) != (len(name.Wire()) <= gen.MaxNameLength("weather")) {
			t.Errorf("%q: CheckWireName(%q) = %v, want it accepted: %t", text, name.Wire(), err, len(name.Wire()) <= gen.MaxNameLength("weather"))
		}
		for _, kind := range []string{"tool", "command", "query", "worker", "resource", "prompt", "feature"} {
			file := name.File(kind)
			if !isPlainFile(t, file) || strings.HasSuffix(file, "_gen.go") || !strings.HasPrefix(file, name.Wire()) {
				t.Errorf("%q is in %q", text, file)
			}
		}
		if !regexp.MustCompile(`^[A-Za-z0-9 ]+$`).MatchString(name.Human()) {
			t.Errorf("%q is %q in words", text, name.Human())
		}
	})
}

// Names of values and fields are identifiers.
func FuzzIdentifier(f *testing.F) {
	for _, seed := range []string{"open", "in-progress", "2xx", "C++", "é", "a__b", "postID"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for what, parse := range map[string]func(string, ...string) (gen.Name, error){"field": gen.ParseFieldName, "value": gen.NameOfValue} {
			if name, err := parse(text); err == nil && (!token.IsIdentifier(name.Go()) || !token.IsExported(name.Go())) {
				t.Errorf("as a %s, %q is %q", what, text, name.Go())
			}
		}
		gen.WireName(text)
	})
}
