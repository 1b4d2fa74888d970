package engine

import (
	"strings"
	"testing"
)

// A panic shows the lines around it, also if the message names the file without its folder, as in a feature.
func TestLinesOfPanic(t *testing.T) {
	p := newPlan("generate")
	p.dir = "features/posts"
	p.texts["features/posts/boom.go"] = []byte("package posts\n\nvar p *int\nvar n = *p\n")
	for _, place := range []string{"features/posts/boom.go:4", "posts/boom.go:4", "boom.go:4"} {
		if lines := p.linesOfPanic("posts_boom fails: panic: nil pointer (" + place + ")"); !strings.Contains(lines, "> 4 | var n = *p") {
			t.Errorf("%s: %q", place, lines)
		}
	}
	if lines := p.linesOfPanic("panic: x (other.go:4)"); lines != "" {
		t.Errorf("of another file: %q", lines)
	}
}
