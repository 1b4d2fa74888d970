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

// The Go name of words of two or more characters splits into the same words, and has its common
// initialisms in capitals as a field has.
func FuzzInitialisms(f *testing.F) {
	vocabulary := strings.Fields("get user in utf8 sha256 ppm ppms ids apis isbns http https sql sse ui uid dns db id api url vat eur")
	f.Add([]byte("\x06\x0a\x0b\x13"))
	f.Add([]byte("\x05\x12\x00"))
	f.Fuzz(func(t *testing.T, choices []byte) {
		var words []string
		for _, b := range choices[:min(len(choices), 8)] {
			words = append(words, vocabulary[int(b)%len(vocabulary)])
		}
		text := strings.Join(words, "_")
		if name, err := gen.ParseName(text, "ppm"); len(words) > 0 && (err != nil || !name.IsExact()) {
			t.Errorf("ParseName(%q) = %s, %v; want a name that splits into the same words", text, name.Go(), err)
		}
		name, err := gen.ParseName(text)
		if field, _ := gen.ParseFieldName(text); err == nil && name != field {
			t.Errorf("the component %q is %s, want %s, as a field is", text, name.Go(), field.Go())
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
