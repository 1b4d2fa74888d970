package imports_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/petrock/petrock/generators/imports"
	"github.com/petrock/petrock/generators/typecheck"
)

const typical = `package q

import "context"

func F(ctx context.Context, name string) (string, error) {
	if strings.TrimSpace(name) == "" {
		return "", errors.New("a name is needed")
	}
	at := time.Now().Format(time.RFC3339)
	return fmt.Sprintf("%s at %s", strings.ToUpper(name), at), ctx.Err()
}
`

// BenchmarkAdd adds imports to a typical file: with a warm resolver, with a new one, with hundreds
// of siblings, and with a name that no package has.
func BenchmarkAdd(b *testing.B) {
	var siblings strings.Builder
	for i := range 500 {
		fmt.Fprintf(&siblings, "-- q/f%d.go --\npackage q\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\n\t\"example.com/p/base\"\n)\n\nfunc G%d(ctx context.Context) { fmt.Println(base.T{}) }\n", i, i)
	}
	for _, c := range []struct {
		name, archive, text string
		cold                bool
	}{
		{name: "warm", archive: many, text: typical},
		{name: "cold", archive: many, text: typical, cold: true},
		{name: "siblings", archive: many + siblings.String(), text: typical},
		{name: "missing", archive: many, text: strings.ReplaceAll(typical, "strings.", "nowhere.")},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := project(b, c.archive)
			view := p.view()
			b.ReportAllocs()
			for b.Loop() {
				if c.cold {
					p.resolver = imports.NewResolver("example.com/p", p.cache)
				}
				benchAdd(b, p, view, c.text)
			}
		})
	}
}

func benchAdd(b *testing.B, p *bench, view *typecheck.View, text string) {
	if _, _, err := p.resolver.Add(b.Context(), view, "q/q.go", []byte(text)); err != nil {
		b.Fatal(err)
	}
}
