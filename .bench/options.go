package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// serverNames are the servers, which are also the folders below servers.
var serverNames = []string{"ours", "gosdk", "mcpgo", "floor", "linked"}

// httpServerNames are those that are measured over HTTP.
var httpServerNames = []string{"ours", "gosdk", "mcpgo", "httpfloor"}

// An options is what the program was told.
type options struct {
	over   string // the transport: stdio or http
	rounds int
	time   time.Duration // of one sequential or pipelined measurement
	quiet  time.Duration // that may be spent on measuring again what others disturbed
	only   []string      // in the order of the suite's
	json   bool
	short  bool
	strict bool

	// How much is done in one round, beyond time.
	starts, idlePings, behinds, cancels int
}

const usage = `usage: cd .bench && go run . [flags]

Builds MCP servers (ours, two peers, floors) and measures them side by side, in
interleaved rounds. Over stdio: start, sequential and pipelined calls, CPU, memory, size, and
how fast pings and cancellations get through while slow tools run. Over HTTP, in both eras of
the protocol: sequential calls and those of 64 clients, CPU, and memory for 1,000 sessions.
Then it compares the figures with petrock's targets.

It exits with 0 when it has measured, also if a target is missed (but see -strict).

flags:
`

// parseOptions reads the arguments. What is wrong with them has been written to errOut
// when it returns an error.
func parseOptions(args []string, errOut io.Writer) (options, error) {
	o := options{starts: 20, idlePings: 200, behinds: 50, cancels: 25}
	var only string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Usage = func() {
		fmt.Fprint(errOut, usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.over, "over", "stdio", "the `transport`: stdio or http")
	flags.IntVar(&o.rounds, "rounds", 7, "how often every server is measured; medians are shown")
	flags.DurationVar(&o.time, "time", 500*time.Millisecond, "how long each sequential and pipelined measurement takes, from 10ms to 30s")
	flags.DurationVar(&o.quiet, "quiet", 0, "wait for a quiet machine, and measure again what other processes disturbed, for up to this `time` in all")
	flags.StringVar(&only, "only", "", "the `servers` to measure, with commas between them; all if it is not given")
	flags.BoolVar(&o.json, "json", false, "write JSON, with the figures of every round")
	flags.BoolVar(&o.short, "short", false, "a run of about 20 seconds: fewer samples, -rounds 2 and -time 200ms if they are not given")
	flags.BoolVar(&o.strict, "strict", false, "exit with 1 if a target is missed or could not be checked")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.short {
		given := map[string]bool{}
		flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
		o.shorten(given["rounds"], given["time"])
	}
	one, err := suiteOf(o.over)
	if err == nil {
		o.only, err = one.chosen(only)
	}
	switch {
	case err != nil:
	case flags.NArg() > 0:
		err = fmt.Errorf("there are no arguments but flags, got %q", flags.Arg(0))
	case o.rounds < 1:
		err = fmt.Errorf("-rounds must be at least 1, got %d", o.rounds)
	case o.quiet < 0:
		err = fmt.Errorf("-quiet must not be negative, got %v", o.quiet)
	case o.time < 10*time.Millisecond || o.time > 30*time.Second:
		err = fmt.Errorf("-time must be from 10ms to 30s, got %v", o.time)
	}
	if err != nil {
		fmt.Fprintf(errOut, "bench: %v\nTry -help.\n", err)
	}
	return o, err
}

// shorten makes a run small, but for what was asked for.
func (o *options) shorten(keepRounds, keepTime bool) {
	if !keepRounds {
		o.rounds = 2
	}
	if !keepTime {
		o.time = 200 * time.Millisecond
	}
	o.starts, o.idlePings, o.behinds, o.cancels = 8, 50, 15, 10
}

// chosen returns the servers named in a list, each once, in the order of the suite's; all for an empty
// list.
func (s suite) chosen(list string) ([]string, error) {
	if list == "" {
		return s.servers, nil
	}
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(s.servers, name) {
			return nil, fmt.Errorf("-only: there is no server %q; choose from %s", name, strings.Join(s.servers, ", "))
		}
		wanted[name] = true
	}
	return slices.DeleteFunc(slices.Clone(s.servers), func(name string) bool { return !wanted[name] }), nil
}
