package launch

import (
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/live"
)

func TestParseDev(t *testing.T) {
	for _, test := range []struct {
		line string
		want live.Options
		dev  bool
		err  string
	}{
		{line: ""},
		{line: "status"},
		{line: "help dev"},
		{line: "dev try --data x"},
		{line: "dev", dev: true},
		{line: "dev --no-petrock --no-net=true --no-exec=0", dev: true, want: live.Options{NoPetrock: true, NoNet: true}},
		{line: "dev --no-exec -- --data x --help", dev: true, want: live.Options{NoExec: true, Args: []string{"--data", "x", "--help"}}},
		{line: "dev --help"},
		{line: "dev --no-net -h"},
		{line: "dev --http :8181", err: "only the installed petrock serves HTTP; install petrock"},
		{line: "dev --http=:8181 --unknown", err: "only the installed petrock serves HTTP; install petrock"},
		{line: "dev --unknown", err: `unknown argument "--unknown" of dev; its flags are`},
		{line: "dev -no-net", err: `unknown argument "-no-net"`},
		{line: "dev mcp", err: `unknown argument "mcp"`},
		{line: "dev --no-net=", err: `invalid value of --no-net: ""`},
	} {
		got, dev, err := parseDev(strings.Fields(test.line))
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), test.err) || terminal.ExitCode(err) != terminal.ExitUsage {
				t.Errorf("parseDev of %q: got error %v, want a usage error with %q", test.line, err, test.err)
			}
		case err != nil || dev != test.dev || dev && !reflect.DeepEqual(got, test.want):
			t.Errorf("parseDev of %q: got %+v, %t, %v; want %+v, %t and no error", test.line, got, dev, err, test.want, test.dev)
		}
	}
}

// MCP clients wait for the first build of this package, which compiles the standard library too:
// Claude Code gives up after 30 seconds. A program with net/http takes twice as long as this one.
func TestFewPackages(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	heavy := regexp.MustCompile(`^(net|net/.*|crypto/(tls|x509|sha.*|rand)|go/.*|regexp|text/template|html/.*|encoding/(xml|gob)|database/.*|.*cobra|golang\.org/x/(tools|mod|net).*)$`)
	count := 0
	for name := range strings.FieldsSeq(string(out)) {
		count++
		if heavy.MatchString(name) {
			t.Errorf("cmd/petrock of a project links %s; a client may give up before it is compiled", name)
		}
	}
	if count > 110 {
		t.Errorf("cmd/petrock of a project links %d packages, want at most 110", count)
	}
}
