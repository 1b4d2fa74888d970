package cli

import (
	"bytes"
	"strings"
	"testing"
)

type report string

func (r report) String() string { return string(r) }

const reportText = `Generated tool greet (operation 0001):
  create  tools/greet.go
  update  tools/tools_gen.go (derived)
warning: nothing
Next:
  go test ./tools
`

// A report that is not printed to a terminal stays as it is, except control characters.
func TestPrintReport(t *testing.T) {
	var out bytes.Buffer
	if err := PrintReport(&out, report(reportText+"\x1b")); err != nil || out.String() != reportText+`\u001b` {
		t.Errorf("PrintReport: %v, printed %q; want no error and %q", err, out.String(), reportText+`\u001b`)
	}
}

// The patterns match the lines that they are for. Without a terminal, they add only marks.
func TestHighlight(t *testing.T) {
	var out bytes.Buffer
	for line, want := range map[string]string{
		reportText:                           "✓ " + reportText,
		"hello: ok (.mcp.json)\n  note: x\n": "✓ hello: ok (.mcp.json)\n  note: x\n",
		"hello: wrong\n  wrong: y\n":         "✗ hello: wrong\n  wrong: y\n",
		"It does not compile:\nx\n":          "✗ It does not compile:\nx\n",
		"  hello/tools\n":                    "  hello/tools\n",
	} {
		if got := addStyles(&out, line); got != want {
			t.Errorf("%s becomes %s, want %s", strings.TrimSpace(line), got, want)
		}
	}
}
